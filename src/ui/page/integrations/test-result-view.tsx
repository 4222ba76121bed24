import type { ConnectionTest } from '../../../serve/page/page-shapes.ts';

/** Shows the result of testing a connection and, after a failure, what to check. */
export function TestResultView({ result: { ok, message, check } }: { readonly result: ConnectionTest }) {
  return (
    <div class={`notice ${ok ? 'good' : 'bad'}`} role="status">
      <strong>{ok ? 'The connection works' : 'The test failed; nothing was saved'}</strong>
      <span>{message}</span>
      {check.length > 0 && (
        <ul>
          {check.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

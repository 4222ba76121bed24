import type { ConnectionTest } from '../../../serve/page/page-shapes.ts';

/** The result of a test, with the things to check after a failure. */
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

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ReportedProblem } from '../api.ts';
import type { ListPart, Loaded, Older, PageAction } from '../use-loaded.ts';

export function ProblemNotice({ problem }: { readonly problem: ReportedProblem | undefined }) {
  if (problem === undefined) return null;
  return (
    <div class="notice bad" role="alert">
      <strong>{problem.title}</strong>
      <span>{problem.detail}</span>
      {problem.errors?.map(({ pointer, message, detail }) => (
        <span key={pointer ?? message}>
          {pointer !== undefined && <code>{pointer}</code>} {message ?? detail}
        </span>
      ))}
    </div>
  );
}

interface LoadedViewProps<Data> {
  readonly loaded: Loaded<Data>;
  readonly children: (data: Data) => ComponentChildren;
}

/** If loading again fails, the problem appears above the earlier data. */
export function LoadedView<Data>({ loaded, children }: LoadedViewProps<Data>) {
  const { data, problem } = loaded;
  return (
    <>
      <ProblemNotice problem={problem} />
      {data === undefined ? problem === undefined && <p class="loading">Loading</p> : children(data)}
    </>
  );
}

interface ActionButtonProps {
  readonly action: PageAction;
  readonly kind?: 'main' | 'danger';
  readonly isDisabled?: boolean;
  /** Starts the action; undefined for a button that submits the form around it. */
  readonly onAct?: () => void;
  readonly children: ComponentChildren;
}

/** Disabled while the action is running. */
export function ActionButton({ action, kind, isDisabled = false, onAct, children }: ActionButtonProps) {
  return (
    <button
      type={onAct ? 'button' : 'submit'}
      class={kind}
      aria-busy={action.isBusy}
      disabled={isDisabled || action.isBusy}
      onClick={onAct}
    >
      {children}
    </button>
  );
}

export function DialogActions({ onClose, ...button }: ActionButtonProps & { readonly onClose: () => void }) {
  return (
    <>
      <ProblemNotice problem={button.action.problem} />
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton kind="main" {...button} />
      </div>
    </>
  );
}

interface OlderButtonProps {
  readonly older: Older<ListPart>;
  readonly cursor: string | null;
  readonly children: ComponentChildren;
}

/** Shows nothing if there is no older page. */
export function OlderButton({ older, cursor, children }: OlderButtonProps) {
  return (
    <>
      <ProblemNotice problem={older.action.problem} />
      {cursor !== null && (
        <ActionButton action={older.action} onAct={() => older.load(cursor)}>
          {children}
        </ActionButton>
      )}
    </>
  );
}

/** A time shown in the reader's time zone. The attribute `dateTime` contains the exact time. */
export function Time({ at }: { readonly at: string }) {
  return <time dateTime={at}>{timeText(new Date(at), new Date())}</time>;
}

const [clock, day, dayAndYear] = [
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }),
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' }),
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' }),
];

/** Formats a time, such as `14:02` today, `24 Nov 14:02` this year, and `24 Nov 2025` in earlier years. @internal */
export function timeText(at: Date, now: Date): string {
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  if (at.getFullYear() === now.getFullYear()) return `${day.format(at)} ${clock.format(at)}`;
  return dayAndYear.format(at);
}

export function Day({ at }: { readonly at: string }) {
  return <time dateTime={at}>{dayAndYear.format(new Date(at))}</time>;
}

/** A button that copies text, and shows for two seconds that it has. */
function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = setTimeout(() => setSaid(''), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Select it and copy'),
    );
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      <span aria-live="polite">{said === '' ? label : said}</span>
    </button>
  );
}

export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: only a focused element can be scrolled with the keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <CopyButton text={text} />
    </div>
  );
}

/** The server has masked the secrets. */
type ShownRequest = Readonly<Record<string, unknown>>;

export function RequestView({ request }: { readonly request: ShownRequest }) {
  return <CodeBlock text={requestText(request)} label="Request" />;
}

/** Formats a request as HTTP text. A request without a URL, such as a tool call, is formatted as JSON. @internal */
export function requestText(request: ShownRequest): string {
  const { method = 'GET', url, headers = {}, body } = request;
  if (url === undefined) return JSON.stringify(request, null, 2);
  const lines = [`${method} ${url}`, ...headerLines(headers as ShownRequest)];
  if (body === null || body === undefined) return lines.join('\n');
  return [...lines, '', typeof body === 'string' ? body : JSON.stringify(body, null, 2)].join('\n');
}

export function headerLines(headers: ShownRequest): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
}

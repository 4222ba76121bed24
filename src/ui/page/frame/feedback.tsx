import type { ComponentChildren } from 'preact';
import type { Problem } from '../api.ts';
import type { Action, Loaded } from '../use-loaded.ts';

/** Shows a problem that the server reported, in red. */
export function ProblemNotice({ problem }: { readonly problem: Problem | undefined }) {
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

/** Shows data that was loaded from the server. If loading it again fails, the problem appears above the earlier data. */
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
  readonly action: Action;
  readonly kind?: 'main' | 'danger';
  readonly isDisabled?: boolean;
  /** Starts the action; undefined for a button that submits the form around it. */
  readonly onAct?: () => void;
  readonly children: ComponentChildren;
}

/** A button that starts an action. It is disabled while the action is running. */
export function ActionButton({ action, kind, isDisabled = false, onAct, children }: ActionButtonProps) {
  return (
    <button
      type={onAct ? 'button' : 'submit'}
      class={kind}
      aria-busy={action.isBusy}
      disabled={isDisabled || action.isBusy}
      {...(onAct && { onClick: onAct })}
    >
      {children}
    </button>
  );
}

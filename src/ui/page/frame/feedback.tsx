import type { ComponentChildren } from 'preact';
import type { Problem } from '../api.ts';
import type { Action, Loaded } from '../use-loaded.ts';

/** Shows a problem of the server, in red. */
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

/** Shows loaded data. If a later load fails, its problem stands above the data of the earlier one. */
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
  /** Undefined for a button that submits its form. */
  readonly onAct?: () => void;
  readonly children: ComponentChildren;
}

/** A button that starts an action. It is disabled until the action is done. */
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

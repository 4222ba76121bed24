import type { RunView } from '../../report/run-view.ts';
import type { RunShape } from '../../serve/shapes.ts';

/** A label for the state of a run. It is red only if records failed or an error ended the run. */
export function StateLabel({ view }: { readonly view: Pick<RunView, 'state'> & { readonly counts: Pick<RunView['counts'], 'failed'> } }) {
  const { state, counts } = view;
  const kind = state === 'failed' ? 'bad' : state === 'stopped' || state === 'stopping' ? 'warn' : 'good';
  const some = state === 'finished' && counts.failed > 0;
  return <span class={`state ${some ? 'warn' : kind}`}>{some ? 'finished, some failed' : state}</span>;
}

/** A label for the state of a run, made from the server's description of the run. */
export function RunState({ run }: { readonly run: Pick<RunShape, 'state' | 'counts'> }) {
  return <StateLabel view={run} />;
}

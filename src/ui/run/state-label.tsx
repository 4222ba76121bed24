import type { RunView } from './run-view.ts';

/** The state of a run in a word. Red only if records failed or an error ended it. */
export function StateLabel({ view }: { readonly view: Pick<RunView, 'state'> & { readonly counts: Pick<RunView['counts'], 'failed'> } }) {
  const { state, counts } = view;
  const kind = state === 'failed' ? 'bad' : state === 'stopped' || state === 'stopping' ? 'warn' : 'good';
  const some = state === 'finished' && counts.failed > 0;
  return <span class={`state ${some ? 'warn' : kind}`}>{some ? 'finished, some failed' : state}</span>;
}

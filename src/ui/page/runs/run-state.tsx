import type { RunShape } from '../../../serve/shapes.ts';
import { StateLabel } from '../../run/state-label.tsx';

/** The state of a run in a word. */
export function RunState({ run }: { readonly run: Pick<RunShape, 'state' | 'counts'> }) {
  return <StateLabel view={run} />;
}

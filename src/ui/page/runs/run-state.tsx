import type { RunShape } from '../../../serve/shapes.ts';
import { StateLabel } from '../../run/state-label.tsx';

/** A label with the state of a run. */
export function RunState({ run }: { readonly run: Pick<RunShape, 'state' | 'counts'> }) {
  return <StateLabel view={run} />;
}

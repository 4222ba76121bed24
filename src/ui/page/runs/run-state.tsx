import { StateLabel } from '../../run/state-label.tsx';
import type { Run } from '../shapes.ts';

/** The state of a run in a word. */
export function RunState({ run }: { readonly run: Pick<Run, 'state' | 'counts'> }) {
  return <StateLabel view={run} />;
}

import type { RunState } from '../shapes.ts';

/** The states that may follow each state of a run. Only `ServedRun.move` changes a state, at once. */
const following: Readonly<Record<RunState, readonly RunState[]>> = {
  queued: ['running', 'stopped', 'failed'],
  running: ['stopping', 'stopped', 'finished', 'failed', 'queued'],
  stopping: ['stopped', 'finished', 'failed', 'queued'],
  stopped: ['queued'],
  failed: ['queued'],
  finished: [],
};

/** True if a run may go from one state to the other. */
export function mayFollow(from: RunState, to: RunState): boolean {
  return following[from].includes(to);
}

/** True for the states before the end of a run. */
export function isOpenState(state: RunState): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping';
}

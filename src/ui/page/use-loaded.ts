import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type Problem, requestJson } from './api.ts';
import { goTo } from './go-to.ts';

/** Data loaded from the server. */
export interface Loaded<Data> {
  /** Undefined until the first load has ended. The data stay while they are loaded again, so nothing on the page jumps. */
  readonly data: Data | undefined;
  readonly problem: Problem | undefined;
  reload(): void;
}

/** Loads JSON from the server, and again when the path changes and every `everyMs` while the page is visible. Loads nothing without a path. */
export function useLoaded<Data>(path: string | undefined, everyMs?: number): Loaded<Data> {
  const [state, setState] = useState<LoadState<Data>>({});
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => {
    if (path === undefined) return;
    const leaving = new AbortController();
    requestJson<Data>(path, { signal: leaving.signal })
      .then((data) => setState({ path, data }))
      .catch((error: unknown) => {
        if (leaving.signal.aborted) return;
        setState(withProblem<Data>(path, problemOf(error)));
      });
    return () => leaving.abort();
  }, [path, turn]);
  useEvery(everyMs, reload);
  const isCurrent = state.path === path;
  return { data: isCurrent ? state.data : undefined, problem: isCurrent ? state.problem : undefined, reload };
}

interface LoadState<Data> {
  readonly path?: string;
  readonly data?: Data;
  readonly problem?: Problem;
}

/** Adds a problem to the state, and leaves data that came from the same path. */
function withProblem<Data>(path: string, problem: Problem): (before: LoadState<Data>) => LoadState<Data> {
  return (before) => ({ ...(before.path === path ? before : {}), path, problem });
}

/** Turns an error into a problem to show. If the session has ended, goes to the login. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof ApiError)) return { type: 'page', title: 'The page has an error', status: 0, detail: String(error) };
  if (error.isLoggedOut) goTo('/login', { replace: true });
  return error.problem;
}

/** Calls `act` every `everyMs` while the page is visible. */
export function useEvery(everyMs: number | undefined, act: () => void): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && act(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, act]);
}

/** An action that a person starts. */
export interface Action {
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  /** Calls `act`, unless an earlier call still runs. Resolves to true if `act` succeeded. */
  run(act: () => Promise<unknown>): Promise<boolean>;
}

/** Creates an Action. */
export function useAction(): Action {
  const [state, setState] = useState<{ isBusy: boolean; problem: Problem | undefined }>({ isBusy: false, problem: undefined });
  const busy = useRef(false);
  const run = useCallback(async (act: () => Promise<unknown>) => {
    if (busy.current) return false;
    busy.current = true;
    setState({ isBusy: true, problem: undefined });
    try {
      await act();
      setState({ isBusy: false, problem: undefined });
      return true;
    } catch (error) {
      setState({ isBusy: false, problem: problemOf(error) });
      return false;
    } finally {
      busy.current = false;
    }
  }, []);
  return { ...state, run };
}

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { FlowShape } from '../../serve/shapes.ts';
import { ApiError, goTo, type ReportedProblem, requestJson } from './api.ts';

export interface Loaded<Data> {
  /** Undefined until the first load has ended. While it is loaded again, the earlier data stays, so that nothing on the page jumps. */
  readonly data: Data | undefined;
  readonly problem: ReportedProblem | undefined;
  reload(): void;
  /** Loads again, unless a load is under way, so that an answer that takes long arrives. */
  refresh(): void;
}

/** Loads at the start, when `path` changes, and every `everyMs` ms while the page is visible. Loads nothing if `path` is undefined. */
export function useLoaded<Data>(path: string | undefined, everyMs?: number): Loaded<Data> {
  const [state, setState] = useState<LoadState<Data>>({});
  const [turn, setTurn] = useState(0);
  const isLoading = useRef(false);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const refresh = () => {
    if (!isLoading.current) reload();
  };
  useEffect(() => {
    if (path === undefined) return;
    const leaving = new AbortController();
    isLoading.current = true;
    requestJson<Data>(path, { signal: leaving.signal })
      .then((data) => setState({ path, data }))
      .catch((error: unknown) => {
        if (leaving.signal.aborted) return;
        setState(withProblem<Data>(path, problemOf(error)));
      })
      .finally(() => {
        if (!leaving.signal.aborted) isLoading.current = false;
      });
    return () => {
      leaving.abort();
      isLoading.current = false;
    };
  }, [path, turn]);
  useEvery(everyMs, refresh);
  const isCurrent = state.path === path;
  return { data: isCurrent ? state.data : undefined, problem: isCurrent ? state.problem : undefined, reload, refresh };
}

interface LoadState<Data> {
  readonly path?: string;
  readonly data?: Data;
  readonly problem?: ReportedProblem;
}

/** Keeps data that was loaded from the same path. */
function withProblem<Data>(path: string, problem: ReportedProblem): (before: LoadState<Data>) => LoadState<Data> {
  return (before) => ({ ...(before.path === path ? before : {}), path, problem });
}

/** If the session has ended, goes to the login page. */
export function problemOf(error: unknown): ReportedProblem {
  if (!(error instanceof ApiError)) return { type: 'page', title: 'The page has an error', status: 0, detail: String(error) };
  if (error.isLoggedOut) goTo('/login', { replace: true });
  return error.problem;
}

/** Calls `act` every `everyMs` ms while the page is visible. */
export function useEvery(everyMs: number | undefined, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && latest.current(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

export interface PageAction {
  readonly isBusy: boolean;
  readonly problem: ReportedProblem | undefined;
  /** Runs `act`, unless an earlier call is still running. Resolves to true if `act` has succeeded. */
  run(act: () => Promise<unknown>): Promise<boolean>;
}

export function useAction(): PageAction {
  const [state, setState] = useState<{ isBusy: boolean; problem: ReportedProblem | undefined }>({ isBusy: false, problem: undefined });
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

export interface ListPart {
  readonly next_cursor: string | null;
}

export interface Older<Part> {
  readonly parts: readonly Part[];
  readonly action: PageAction;
  /** Null if there is no older page. `first` is the cursor that came with the newest page. */
  cursor(first: string | null): string | null;
  load(cursor: string): void;
}

/** Loads one page at a time. `path` must end with `?`, or with a query and `&`, because the cursor is appended to it. */
export function useOlder<Part extends ListPart>(path: string): Older<Part> {
  const [parts, setParts] = useState<readonly Part[]>([]);
  const action = useAction();
  const add = async (cursor: string) => setParts([...parts, await requestJson<Part>(`${path}cursor=${encodeURIComponent(cursor)}`)]);
  return {
    parts,
    action,
    cursor: (first) => (parts.at(-1) ?? { next_cursor: first }).next_cursor,
    load: (cursor) => void action.run(() => add(cursor)),
  };
}

/** Keeps the values of a form's fields. Returns them, and a function that makes the input handler of a field. */
export function useForm<Form extends Readonly<Record<string, string>>>(
  empty: Form,
): readonly [form: Form, set: (name: keyof Form) => (value: string) => void] {
  const [form, setForm] = useState(empty);
  const set = (name: keyof Form) => (value: string) => setForm({ ...form, [name]: value });
  return [form, set];
}

/** The name that pages show for a flow, by the flow's id. Undefined while it is being loaded; the id of a flow that is gone. */
export type FlowNames = (id: string) => string | undefined;

export function useFlowNames(): FlowNames {
  const { data, problem } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  return (id) => data?.flows.find((flow) => flow.id === id)?.name ?? (data || problem ? id : undefined);
}

import { useState } from 'preact/hooks';
import { requestJson } from './api.ts';
import { type Action, useAction } from './use-loaded.ts';

/** One page of a list that the server returns in pages. */
export interface ListPart {
  readonly next_cursor: string | null;
}

/** The older pages of a list, as far as the user has loaded them. */
export interface Older<Part> {
  readonly parts: readonly Part[];
  readonly action: Action;
  /**
   * Returns the cursor with which the next older page is loaded; null if there is none. `first` is the cursor that came with the newest
   * page.
   */
  cursor(first: string | null): string | null;
  load(cursor: string): void;
}

/**
 * Loads the older pages of a list, one at a time. `path` must end with `?`, or with a query and `&`, because the cursor is appended to it.
 */
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

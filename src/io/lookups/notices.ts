import { readData } from './data.ts';

/** The licence of an embedded package, and the date of its data. */
export interface Notice {
  /** The name of the source, as in `core/lookups/sources`; a package that is no source of answers has its own name. */
  readonly source: string;
  readonly package: string;
  readonly version: string;
  /** Such as 2026-09-18. */
  readonly date: string;
  /** The full text. */
  readonly licence: string;
}

/** Reads the notices of all embedded packages. */
export function readNotices(folder: string): Promise<readonly Notice[]> {
  return readData(folder, 'notices');
}

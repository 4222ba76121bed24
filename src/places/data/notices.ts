import { readData } from './data.ts';

/** The licence of a package of embedded data, and the date of the data. */
export interface Notice {
  /** Name of the data source, as in `core/lookups/sources`. If no lookup returns this data, the name of the package. */
  readonly source: string;
  readonly package: string;
  readonly version: string;
  /** Date of the data, such as 2026-09-18. */
  readonly date: string;
  /** The complete text of the licence. */
  readonly licence: string;
}

/** Reads the licences of all packages of embedded data. */
export function readNotices(folder: string): Promise<readonly Notice[]> {
  return readData(folder, 'notices');
}

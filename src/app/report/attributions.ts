import { type Source, type SourceName, sources } from '../../core/lookups/sources.ts';
import { dataFolder } from '../ports/data-folder.ts';

/** A source that has answered, as it wants to be named. */
export interface Attribution extends Source {
  readonly source: SourceName;
  /** Date of embedded data, such as 2026-09-18; absent for servers. */
  readonly date?: string | undefined;
}

/** The attributions of sources. The dates are read from the embedded data, if there are any sources. */
export async function attributionsOf(names: ReadonlySet<SourceName>): Promise<readonly Attribution[]> {
  if (names.size === 0) return [];
  const { readNotices } = await import('../../io/lookups/notices.ts');
  const dates = new Map((await readNotices(dataFolder)).map(({ source, date }) => [source, date]));
  return [...names].map((source) => ({ source, ...sources[source], ...(dates.has(source) && { date: dates.get(source) }) }));
}

import type { Event } from '../../core/event.ts';
import type { Item } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { formatCount } from '../../core/text/number.ts';
import type { Tally } from './tally.ts';

/** Finished records after which a run is looked at once. */
const firstRecords = 100;

/** Warnings of a fault that each of the first 100 records has; empty for most runs. Takes every event. */
export function earlyWarnings(event: Event, tally: Tally): string[] {
  if (tally.read !== firstRecords || !endsRecord(event)) return [];
  return [...sameFailure(tally), ...emptyPaths(tally)];
}

function endsRecord({ type }: Event): boolean {
  return type === 'record-done' || type === 'record-failed' || type === 'record-filtered';
}

function sameFailure({ failures }: Tally): string[] {
  const [group, ...others] = [...failures.values()];
  if (!group || others.length > 0 || group.status === undefined || group.count < firstRecords) return [];
  const where = group.node === undefined ? '' : ` at ${group.node}`;
  return [`each of the first ${firstRecords} records failed${where} with status ${group.status}: ${group.message}`];
}

function emptyPaths({ hits }: Tally): string[] {
  return [...hits.values()].flat().flatMap(({ node, path, found, of }) => {
    if (found > 0 || of < firstRecords) return [];
    return [`none of the first ${of} answers of ${node} has "${path}"; automate test-request shows the paths that there are`];
  });
}

/** From this number of records on, a public server is the wrong one. */
const manyRecords = 1000;

/** Passes records on, and warns as soon as it is known that many of them may go to a public server. */
export async function* warnOfMany(
  records: AsyncIterable<readonly Item[]>,
  plan: Plan,
  warn: (message: string) => void,
): AsyncGenerator<readonly Item[]> {
  const servers = [...new Set(allSteps(plan.steps).flatMap(({ node }) => node.action?.lookup?.publicServer ?? []))];
  let seen = 0;
  for await (const items of records) {
    if (seen <= manyRecords && seen + items.length > manyRecords) for (const server of servers) warn(manyText(server));
    seen += items.length;
    yield items;
  }
}

function manyText(server: string): string {
  return `more than ${formatCount(manyRecords)} records may go to the public ${server} server, which takes one request in a second\nask your own server: connection: NAME`;
}

import type { Event, MorePages } from '../core/event.ts';
import type { Item } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { formatCount } from '../core/text/number.ts';
import { listedNames } from '../core/text/suggest.ts';
import type { Tally } from './tally.ts';

/** After this many finished records, a run is checked once for faults that affect all records. */
const firstRecords = 100;

/** Faults of all of the first 100 records, and answers with more pages than a node reads. Must be called with every event of the run. */
export function earlyWarnings(event: Event, tally: Tally): string[] {
  // Each worker process reports a node's pages by itself.
  if (event.type === 'more-pages') return tally.morePages.get(event.node) === event ? [morePagesText(event.node, event)] : [];
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
    return [`none of the first ${of} answers of ${node} has "${path}"; automate test-request shows the paths of an answer`];
  });
}

/** Returns the text about an answer that is only the first page, with the lines to add to the node. */
export function morePagesText(node: string, { sign, paginate }: MorePages): string {
  return `the answer of "${node}" has more pages (see ${sign}), and only the first one is read
to read all pages, add to "${node}":
  ${paginate}
if only the first page is meant, add:
  paginate: none`;
}

/** Returns the text about columns without a name; undefined if there are none. */
export function givenNamesText(names: readonly string[] = []): string | undefined {
  if (names.length === 0) return undefined;
  const [columns, are] = names.length === 1 ? ['a column', 'it is'] : [`${formatCount(names.length)} columns`, 'they are'];
  return `the header has no name for ${columns}: ${are} called ${listedNames(names)}`;
}

/** A flow should not use a free public server for more records than this. */
const manyRecords = 1000;

/** Yields the records unchanged. Warns if there are too many of them for a free public server. */
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

interface NamedPlan {
  readonly plan: Plan;
  readonly flow: string;
}

/** Adds JSON fields to `late` that a map replaces without `replace: true` and the first (checked) records lack. Warns of each once. */
export async function* noteLateFields(
  records: AsyncIterable<readonly Item[]>,
  { plan, flow }: NamedPlan,
  late: string[],
  { first, warn }: { readonly first: readonly string[]; warn(message: string): void },
): AsyncGenerator<readonly Item[]> {
  const mapped = allSteps(plan.steps).flatMap(({ node }) => (node.mapped ?? []).map(({ field }) => field));
  const replaced = new Map(plan.replacedColumns([...first, ...mapped]).map((found) => [found.column, found.problem]));
  for (const name of first) replaced.delete(name);
  for await (const items of records) {
    for (const [name, { line, column, message }] of replaced) {
      if (!items.some(({ fields }) => fields.has(name))) continue;
      replaced.delete(name);
      late.push(name);
      warn(`${flow}:${line}:${column}: ${message}`);
    }
    yield items;
  }
}

function manyText(server: string): string {
  return `more than ${formatCount(manyRecords)} records might be sent to the public ${server} server, which accepts one request per second\nto use your own server, write: connection: NAME`;
}

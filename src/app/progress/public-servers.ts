import type { Item } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { formatCount } from '../../core/text/number.ts';

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

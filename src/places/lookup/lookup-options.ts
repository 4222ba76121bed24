import * as z from 'zod';
import type { BuildContext } from '../../core/node.ts';
import { name } from '../../core/options/names.ts';
import { cacheOption, callOptions, meanings } from '../../nodes/call-options.ts';

/** The options of all nodes with lookups. A node can replace an option that has a different default in that node. */
export const lookupOptions = {
  connection: name.optional().describe('a connection to your own server, to use instead of the built-in one'),
  ...callOptions,
  map: callOptions.map.describe(`${meanings.map} (default: the default fields of the lookup)`),
  cache: cacheOption,
  no_match: z
    .enum(['keep', 'reject'])
    .default('keep')
    .describe('if nothing is found for a record: keep leaves its fields empty, reject fails it'),
};

const checked = z.object(lookupOptions);

/** The checked options of a node with lookups. */
export type LookupOptions = z.output<typeof checked>;

/**
 * Reports a connection as a problem, and warns of options without effect, because the lookup uses local data. `choice` is the option that
 * selects the local data.
 */
export function checkLocalOptions(options: LookupOptions, choice: string, { problem, warn }: BuildContext): void {
  const local = `${choice} uses data on this machine`;
  if (options.connection !== undefined) problem(['connection'], `${local}, not a server\nleave connection out`);
  for (const option of ['rate', 'concurrency', 'cache'] as const)
    if (options[option] !== undefined) warn([option], `${local}: ${option} has no effect`);
}

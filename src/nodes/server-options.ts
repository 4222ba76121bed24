import type { BuildContext } from '../core/node.ts';
import type { LookupOptions } from './lookup-options.ts';

const withoutEffect = ['rate', 'concurrency', 'cache'] as const;

/** Refuses a connection, and warns of options without an effect, where embedded data answer. `choice`: the option that says so. */
export function checkServerOptions(options: LookupOptions, choice: string, { problem, warn }: BuildContext): void {
  const embedded = `${choice} is answered by data on this machine`;
  if (options.connection !== undefined) problem(['connection'], `${embedded}: no server is asked\nleave connection out`);
  for (const option of withoutEffect) if (options[option] !== undefined) warn([option], `${embedded}: ${option} has no effect`);
}

import { creditText } from '../../core/text/number.ts';
import type { Spent } from '../../credits/book.ts';
import { type keySums, sums } from '../../credits/rest.ts';
import { tableText } from './table.ts';

interface MonthUsage {
  readonly month: string;
  readonly spent: number;
  /** Credits that active runs have reserved but not spent. */
  readonly held: number;
  /** The monthly allowance; undefined if credits are not limited. */
  readonly limit: number | undefined;
}

/** Compares the credits with the allowance, and lists the sums for each flow, node, connection, environment and API key. */
export function usageText(usage: MonthUsage, spent: readonly Spent[], keys: ReturnType<typeof keySums>): string {
  const { month, held, limit } = usage;
  const underWay = held > 0 ? [`reserved by active runs: ${creditText(held)}`] : [];
  const remaining = limit === undefined ? [] : [`remaining: ${creditText(Math.max(0, limit - usage.spent - held))}`];
  return [
    headline(usage),
    ...remaining,
    ...underWay,
    ...(spent.length === 0 ? [`no credits were spent in ${month}`] : []),
    ...section(
      'by flow',
      sums(spent, 'flow').map(({ flow, credits }) => [flow || '(no flow)', credits]),
    ),
    ...section(
      'by node',
      sums(spent, 'node').map(({ node, credits }) => [node, credits]),
    ),
    ...section(
      'by connection',
      sums(spent, 'connection').map(({ connection, credits }) => [connection || '(none)', credits]),
    ),
    ...section(
      'by environment',
      sums(spent, 'env').map(({ env, credits }) => [env, credits]),
    ),
    ...section(
      'by key',
      keys.map(({ key, name, credits }) => [name ?? key ?? '(no key)', credits]),
    ),
  ].join('\n');
}

function headline({ month, spent, limit }: MonthUsage): string {
  if (limit === undefined) return `${month}  ${creditText(spent)} used, no limit`;
  const share = limit === 0 ? 1 : spent / limit;
  return `${month}  ${bar(share, 30, '░')}  ${creditText(spent)} of ${creditText(limit)} used (${Math.floor(share * 100)} %)`;
}

function section(title: string, rows: readonly (readonly [string, number])[]): string[] {
  if (rows.length < 1) return [];
  return ['', `${title}:`, ...tableText(rows.map(([name, credits]) => [`  ${name}`, creditText(credits)]))];
}

export function historyText(months: readonly { readonly month: string; readonly credits: number }[]): string {
  const most = Math.max(...months.map(({ credits }) => credits));
  return tableText(months.map(({ month, credits }) => [month, bar(most === 0 ? 0 : credits / most, 40, ' '), creditText(credits)])).join(
    '\n',
  );
}

/** Any share above zero fills at least one character. */
export function bar(share: number, width: number, rest: string): string {
  const full = share <= 0 ? 0 : Math.max(1, Math.min(width, Math.round(share * width)));
  return '█'.repeat(full) + rest.repeat(width - full);
}

import type { LookupCounts, Tally } from '../../../app/progress/tally.ts';
import type { Attribution } from '../../../app/report/attributions.ts';
import { excerpt } from '../../../core/answer/response.ts';
import { counted, formatCount } from '../../../core/text/number.ts';

/** The lines of a summary about lookups. */
export function lookupLines({ lookups }: Tally): string[] {
  const all = [...lookups.values()];
  return all.flatMap((counts) => {
    const isAlone = all.filter(({ lookup }) => lookup === counts.lookup).length === 1;
    const name = `${counts.lookup}${isAlone ? '' : ` (${counts.node})`}`;
    return [`  ${name}: ${countsText(counts)}`, ...cutOffLines(name, counts)];
  });
}

function cutOffLines(name: string, { cutOff, cutOffAt = 0, nearestUnknown }: LookupCounts): string[] {
  if (cutOff === 0) return [];
  const line = `  ${name} cut off at ${formatCount(cutOffAt)}: ${counted(cutOff, 'record')}`;
  if (nearestUnknown === 0) return [line];
  return [line, '    the nearest point is not known there; raise limit, or search a smaller radius'];
}

function countsText({ matched, of, ambiguous, firstAmbiguous = '', lacking }: LookupCounts): string {
  const others = ambiguous === 0 ? '' : `, ambiguous: ${formatCount(ambiguous)}, such as ${JSON.stringify(excerpt(firstAmbiguous, 60))}`;
  const without = [...lacking].map(([field, times]) => `, ${excerpt(field, 60)}: ${formatCount(times)} without a value`);
  return `matched ${formatCount(matched)} of ${formatCount(of)}${others}${without.join('')}`;
}

/** The sources of a run's answers, as they want to be named: the last lines of its summary. */
export function attributionLines(attributions: readonly Attribution[]): string[] {
  return attributions.map(({ text, date }) => `  data: ${text}${date === undefined ? '' : ` (${date})`}`);
}

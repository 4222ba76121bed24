/** Maximum length of a name that is compared with others, or shown whole in a message: names can come from any file or server. */
const maxNameLength = 200;

/** Maximum number of names that one name is compared with. */
const maxChoices = 10_000;

/** A name as messages show it: long names are cut. */
export function shortName(name: string): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength).toWellFormed()}...`;
}

/** A file or server can have hundreds of names: a message lists only this many. */
const maxListed = 20;

/** The first names of a list, as messages show them: `a, b and 3 more`. `show`: makes the text of a name. */
export function listedNames(names: readonly string[], show: (name: string) => string = (name) => name): string {
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : '';
  return `${names
    .slice(0, maxListed)
    .map((name) => show(shortName(name)))
    .join(', ')}${more}`;
}

/** `; did you mean "x"?` for the choice nearest to the written text. Empty if none is near. */
export function didYouMean(written: string, choices: Iterable<string>): string {
  const best = nearest(written, choices);
  return best === undefined ? '' : `; did you mean "${withoutInvisible(best)}"?`;
}

/** The name with invisible characters as escapes. A blank is visible between quotes, a zero-width space is not. */
function withoutInvisible(name: string): string {
  return name.replace(/(?! )[\p{Cf}\p{Z}]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The choice nearest to the written text, ignoring spaces around it. Undefined if none is near. Long names, and choices after the first 10,000, are not compared. */
export function nearest(written: string, choices: Iterable<string>): string | undefined {
  if (written.length > maxNameLength) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(written.length / 3)) + 1;
  let compared = 0;
  for (const choice of choices) {
    if (++compared > maxChoices) break;
    if (choice.length > maxNameLength) continue;
    const name = choice.trim();
    if (Math.abs(written.length - name.length) >= least) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    // A choice without any letter in common is not near.
    const isOther = distance === Math.max(written.length, name.length);
    if (distance < least && !isOther) [best, least] = [choice, distance];
  }
  return best;
}

/** The number of insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (above[j] as number) + 1, (row[j - 1] as number) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] as number) + 1);
      }
      row.push(least);
    }
    [before, above] = [above, row];
  }
  return above[b.length] as number;
}

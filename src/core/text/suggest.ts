/** Names can come from any file or server, so they can be long. */
const maxNameLength = 200;

const maxChoices = 10_000;

export function shortName(name: string): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength).toWellFormed()}...`;
}

/** A file or server can have hundreds of names. */
const maxListed = 20;

/** Has the form `a, b and 3 more`. */
export function listedNames(names: readonly string[], show: (name: string) => string = (name) => name): string {
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : '';
  return `${names
    .slice(0, maxListed)
    .map((name) => show(shortName(name)))
    .join(', ')}${more}`;
}

/** Returns the name, or if it is taken, the first name of the form `name_2` that is free. */
export function freeName(name: string, isTaken: (name: string) => boolean, separator = '_'): string {
  let free = name;
  for (let number = 2; isTaken(free); number++) free = `${name}${separator}${number}`;
  return free;
}

/** Returns `; did you mean "x"?`, or empty text if no choice is similar. */
export function didYouMean(written: string, choices: Iterable<string>): string {
  const best = nearest(written, choices);
  return best === undefined ? '' : `; did you mean "${withoutInvisible(best)}"?`;
}

/** Escapes characters such as a zero-width space. Ordinary spaces stay, because quotes make them visible. */
function withoutInvisible(name: string): string {
  return name.replace(/(?! )[\p{Cf}\p{Z}]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The most similar choice, ignoring spaces around it. Long names are not compared, nor are choices after the first 10,000. */
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
    // A choice that has no letter in common with the text is not similar.
    const isOther = distance === Math.max(written.length, name.length);
    if (distance < least && !isOther) [best, least] = [choice, distance];
  }
  return best;
}

/** The choices that differ least from the text, the most similar first, however much they differ. */
export function nearestOnes(written: string, choices: Iterable<string>, count: number): string[] {
  const name = shortName(written).toLowerCase();
  const distances = [...new Set(choices)].map((choice) => ({ choice, distance: editDistance(name, choice.toLowerCase()) }));
  return distances
    .sort((one, other) => one.distance - other.distance)
    .slice(0, count)
    .map(({ choice }) => choice);
}

/** Counts insertions, deletions, replacements and swaps of neighbouring letters (optimal string alignment distance). */
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

/** `; did you mean "x"?` for the choice nearest to the written text. Empty if none is near. */
export function didYouMean(written: string, choices: Iterable<string>): string {
  const best = nearest(written, choices);
  return best === undefined ? '' : `; did you mean "${withoutInvisible(best)}"?`;
}

/** The name with invisible characters as escapes. A blank is visible between quotes, a zero-width space is not. */
function withoutInvisible(name: string): string {
  return name.replace(/(?! )[\p{Cf}\p{Z}]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The choice nearest to the written text, ignoring spaces around it. Undefined if none is near. */
export function nearest(written: string, choices: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(written.length / 3)) + 1;
  for (const choice of choices) {
    const name = choice.trim();
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

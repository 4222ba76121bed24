/** The style and the value of a YAML scalar. A node that is not a scalar has no value. */
interface Styled {
  readonly type?: string | null | undefined;
  readonly value?: unknown;
}

/**
 * Returns the offset in the file of a mistake inside a scalar. `within` is the text of the mistake, or its offset in the scalar's value. If
 * the mistake cannot be found, returns the start of the scalar.
 */
export function offsetWithin(
  text: string,
  node: Styled | undefined,
  [start, end]: readonly [number, number],
  within: string | number,
): number {
  if (typeof within === 'string') return start + Math.max(0, text.slice(start, end).search(wholeWord(within)));
  if (typeof node?.value !== 'string') return start;
  const source = text.slice(start, end);
  const contentStart = node.type?.startsWith('BLOCK') ? source.indexOf('\n') + 1 : node.type === 'PLAIN' ? 0 : 1;
  const units = [...source.slice(contentStart).matchAll(node.type?.startsWith('QUOTE') ? quotedUnit : plainUnit)];
  const unit = units[visibleCount(node.value.slice(0, within))];
  const last = units.at(-1);
  if (unit && within < node.value.trimEnd().length) return start + contentStart + unit.index;
  return last ? start + contentStart + last.index + last[0].length - (node.type?.startsWith('QUOTE') ? 1 : 0) : start;
}

// YAML folds line breaks and indentation, so only visible characters count.
const plainUnit = /\S/g;
const quotedUnit = /\\[^ntr0 ]|''|\S/g;

function visibleCount(text: string): number {
  return text.replace(/\s/g, '').length;
}

/** Returns a pattern that matches a name, unless it is part of a longer name. */
function wholeWord(text: string): RegExp {
  const escaped = text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return /^\w+$/.test(text) ? new RegExp(`(?<!\\w)${escaped}(?!\\w)`) : new RegExp(escaped);
}

import type { BuildContext } from '../../core/node.ts';
import { referencedFields } from '../../core/template/template.ts';
import { categoryNames } from './loaded-categories.ts';

/** A category of places to which a flow refers. */
interface CategoryOption {
  /** An id such as `amenity/pharmacy`. */
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  /** A note about the id that was found for the words; empty if the flow contains the id itself. */
  readonly notes: readonly string[];
}

/**
 * Returns the category of places that words in a flow refer to. If they match no category, or several, reports the problem and returns
 * undefined.
 */
export function categoryOption(words: string, at: readonly (string | number)[], context: BuildContext): CategoryOption | undefined {
  if (referencedFields(words).length > 0) {
    context.problem(at, 'expected one category for all records, found text with {{field}}');
    return undefined;
  }
  const named = categoryNames()(words);
  if ('id' in named) return { ...named, notes: named.id === words.trim() ? [] : [`category "${words}" is ${named.id}`] };
  const { reason, choices } = named;
  const list = choices.join(', ');
  if (reason === 'ambiguous') context.problem(at, `the category "${words}" can mean ${list}\nwrite the id of one of them`);
  else
    context.problem(
      at,
      `no category is called "${words}"${list === '' ? '' : `; similar ones are ${list}`}\nfind one: automate places categories WORDS`,
    );
  return undefined;
}

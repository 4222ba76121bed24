import type { BuildContext } from '../../core/node.ts';
import { referencedFields } from '../../core/template/template.ts';

/** A category that a flow names. */
interface CategoryOption {
  /** Such as `amenity/pharmacy`. */
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The id that words were taken for; empty if the flow has the id itself. */
  readonly notes: readonly string[];
}

/** The category that words in a flow name. If they mean no category, or several, reports the problem and returns undefined. */
export function categoryOption(words: string, at: readonly (string | number)[], context: BuildContext): CategoryOption | undefined {
  if (referencedFields(words).length > 0) {
    context.problem(at, 'expected one category for all records, found a text with {{field}}');
    return undefined;
  }
  const named = context.category(words);
  if ('id' in named) return { ...named, notes: named.id === words.trim() ? [] : [`category "${words}" is ${named.id}`] };
  const { reason, choices } = named;
  const list = choices.join(', ');
  if (reason === 'ambiguous') context.problem(at, `the category "${words}" may mean ${list}\nwrite the id of one of them`);
  else
    context.problem(
      at,
      `no category is called "${words}"${list === '' ? '' : `; near it are ${list}`}\nfind one: automate places categories WORDS`,
    );
  return undefined;
}

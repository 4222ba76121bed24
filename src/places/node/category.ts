import type { BuildContext } from '../../core/node.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';
import { usesWithin } from '../../nodes/http/request-template.ts';
import { noLanguage } from '../category.ts';
import type { Lookup } from '../lookup/lookup.ts';
import { refuseLong } from './chain.ts';
import type { PlacesOptions } from './places-options.ts';

/** Compiles `lookup: category`, which finds the category of places that words refer to. */
export function categoryLookup({ words = '', language, min_score: minScore = 0.7 }: PlacesOptions, context: BuildContext): Lookup {
  const wrong = language === undefined || referencedFields(language).length > 0 ? undefined : noLanguage(language);
  if (wrong !== undefined) context.problem(['language'], wrong);
  const wordsOf = textTemplate(words);
  const languageOf = textTemplate(language ?? '');
  return {
    label: 'category',
    sources: ['id-tagging-schema'],
    defaultMap: { category: 'id', category_name: 'name', category_score: 'score' },
    reads: [...usesWithin(words, ['words']), ...usesWithin(language, ['language'])],
    answerer: {
      request(fields) {
        const words = wordsOf(fields).trim();
        if (words === '') return undefined;
        refuseLong(words, 'text');
        return { kind: 'lookup', lookup: 'category', query: { words, language: languageOf(fields).trim() || undefined, minScore } };
      },
    },
    question: ({ query }) => String(query),
    noMatch: ({ query }) => `no category fits "${query}"`,
  };
}

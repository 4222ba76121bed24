import { Failure } from '../core/failure.ts';
import type { BuildContext } from '../core/node.ts';
import { textTemplate } from '../core/template/template.ts';
import { formatCount } from '../core/text/number.ts';
import type { Value } from '../core/value/value.ts';
import { usesWithin } from '../nodes/http/request-template.ts';
import type { Lookup } from './lookup/lookup.ts';
import { categoryOption, type PlacesOptions, preferredCountry } from './places-options.ts';

/** Maximum length of a name that is looked up, in characters. */
const maxLength = 500;

export function chainLookup({ name = '', country, category, min_score: minScore = 0.85 }: PlacesOptions, context: BuildContext): Lookup {
  if (Array.isArray(category)) context.problem(['category'], 'lookup: chain takes one category, found a list');
  const preferred = typeof category === 'string' ? categoryOption(category, ['category'], context) : undefined;
  const nameOf = textTemplate(name);
  const preference = preferredCountry(country, context);
  return {
    label: 'chain',
    sources: ['name-suggestion-index'],
    defaultMap: { chain_name: 'name', chain_id: 'id', chain_category: 'category', chain_score: 'score', chain_doubt: 'doubt' },
    reads: [...usesWithin(name, ['name']), ...usesWithin(country, ['country'])],
    notes: preferred?.notes ?? [],
    answerer: {
      request(fields) {
        const name = nameOf(fields).trim();
        if (name === '') return undefined;
        refuseLong(name, 'name');
        return { kind: 'lookup', lookup: 'chain', query: { name, country: preference.code(fields), category: preferred?.id, minScore } };
      },
    },
    question: ({ query }) => String(query),
    unknownCountry: country === undefined ? undefined : preference.unknown,
    noMatch: ({ query, candidates }) => `no chain fits "${query}"${nearest(candidates, minScore)}`,
  };
}

/** Returns the best candidate in words, for the message about a name without a match; empty if there is no candidate. */
function nearest(candidates: Value | undefined, minScore: number): string {
  const [best] = (Array.isArray(candidates) ? candidates : []) as { readonly name: string; readonly score: number }[];
  return best === undefined ? '' : `; the nearest is "${best.name}" (${best.score.toFixed(2)}, below min_score ${minScore})`;
}

export function refuseLong(text: string, what: string): void {
  if (text.length <= maxLength) return;
  const found = `${formatCount(text.length)} characters`;
  throw new Failure('request', `expected a ${what} of at most ${maxLength} characters, found ${found}`, { sent: false });
}

import { type BuildContext, defineNode, type Node } from '../core/node.ts';
import { referencedFields, textTemplate } from '../core/template/template.ts';
import type { Value } from '../core/value/value.ts';
import { usesWithin } from '../nodes/http/request-template.ts';
import { checkLocalOptions, type Lookup } from './lookup/lookup.ts';
import { lookupNode } from './lookup/lookup-node.ts';
import { minChainScore, noLanguage } from './lookup.ts';
import { categoryOption, type PlacesOptions, placesOptions, preferredCountry, type SettledOptions } from './places-options.ts';
import { pointsLookup, pointsSettings } from './points/points.ts';
import { refuseLong } from './refused-value.ts';

function chainLookup({ name = '', country, category, min_score: minScore = minChainScore }: PlacesOptions, context: BuildContext): Lookup {
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

/** The best candidate, for the message about a name without a match. */
function nearest(candidates: Value | undefined, minScore: number): string {
  const [best] = (Array.isArray(candidates) ? candidates : []) as { readonly name: string; readonly score: number }[];
  return best === undefined ? '' : `; the nearest is "${best.name}" (${best.score.toFixed(2)}, below min_score ${minScore})`;
}

function categoryLookup({ words = '', language, min_score: minScore = 0.7 }: PlacesOptions, context: BuildContext): Lookup {
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

export const places = defineNode({
  name: 'places',
  summary: 'Places: finds the chain that a name means, the category that words mean, or points of interest, without any set-up',
  example: `- type: places
  lookup: chain
  name: "{{company}}"
  country: "{{country}}"`,
  options: placesOptions,
  build: buildPlaces,
});

type OptionName = keyof PlacesOptions;

interface PlacesLookup {
  /** Undefined if `build` itself checks the required options. */
  readonly required?: OptionName;
  /** Besides the options of every lookup. */
  readonly options: readonly OptionName[];
  settle?(options: PlacesOptions): SettledOptions;
  build(options: SettledOptions, context: BuildContext): Lookup | undefined;
}

const kinds: Readonly<Record<PlacesOptions['lookup'], PlacesLookup>> = {
  chain: { required: 'name', options: ['name', 'country', 'category', 'min_score'], build: chainLookup },
  category: { required: 'words', options: ['words', 'language', 'min_score'], build: categoryLookup },
  points: { options: ['category', 'chain', 'near', 'area', 'limit', 'source', 'file'], settle: pointsSettings, build: pointsLookup },
};

const defaultTimeoutMs = 30_000;

function buildPlaces(written: PlacesOptions, context: BuildContext): Node | undefined {
  const kind = kinds[written.lookup];
  const options = kind.settle?.(written) ?? { ...written, timeout: written.timeout ?? defaultTimeoutMs };
  checkPlacesOptions(written, kind, context);
  const lookup = kind.build(options, context);
  if (!lookup) return undefined;
  if (options.file !== undefined && options.source !== 'file') context.problem(['file'], 'file needs source: file');
  const { answerer } = lookup;
  if ('request' in answerer)
    checkLocalOptions(options, answerer.file === undefined ? `lookup: ${options.lookup}` : 'source: file', context);
  return lookupNode(options, lookup, context);
}

function checkPlacesOptions(options: PlacesOptions, { required, options: own }: PlacesLookup, context: BuildContext): void {
  const { lookup } = options;
  for (const option of new Set(Object.values(kinds).flatMap((kind) => kind.options))) {
    if (own.includes(option) || options[option] === undefined) continue;
    const others = Object.entries(kinds).flatMap(([name, other]) => (other.options.includes(option) ? [name] : []));
    context.problem([option], `"${option}" is an option of lookup: ${others.join(' and ')}, not of lookup: ${lookup}`);
  }
  if (required && options[required] === undefined)
    context.missing([required], `lookup: ${lookup} needs the option "${required}"`, ['lookup']);
}

import { type BuildContext, defineNode, type Node } from '../../core/node.ts';
import { type Lookup, lookupNode } from '../lookup-node.ts';
import { checkServerOptions } from '../server-options.ts';
import { categoryLookup } from './category.ts';
import { chainLookup } from './chain.ts';
import { type PlacesOptions, placesOptions } from './places-options.ts';

/** The places node: finds the chain that a name means, and the category that words mean. */
export const places = defineNode({
  name: 'places',
  summary: 'Places: finds the chain that a name means, or the category that words mean, without any set-up',
  example: `- type: places
  lookup: chain
  name: "{{company}}"
  country: "{{country}}"`,
  options: placesOptions,
  build: buildPlaces,
});

type OptionName = keyof PlacesOptions;

/** A lookup of the node. */
interface Kind {
  /** The option that it cannot do without. */
  readonly required: OptionName;
  /** Its other options, besides those of every lookup. */
  readonly optional: readonly OptionName[];
  build(options: PlacesOptions, context: BuildContext): Lookup;
}

const kinds: Readonly<Record<PlacesOptions['lookup'], Kind>> = {
  chain: { required: 'name', optional: ['country', 'category', 'min_score'], build: chainLookup },
  category: { required: 'words', optional: ['language', 'min_score'], build: categoryLookup },
};

function buildPlaces(options: PlacesOptions, context: BuildContext): Node | undefined {
  const kind = kinds[options.lookup];
  checkOptions(options, kind, context);
  const lookup = kind.build(options, context);
  if (lookup.isEmbedded) checkServerOptions(options, `lookup: ${options.lookup}`, context);
  return lookupNode(options, lookup, context);
}

function checkOptions(options: PlacesOptions, kind: Kind, context: BuildContext): void {
  const { lookup } = options;
  const own = optionsOf(kind);
  for (const option of new Set(Object.values(kinds).flatMap(optionsOf))) {
    if (own.includes(option) || options[option] === undefined) continue;
    const others = Object.entries(kinds).flatMap(([name, other]) => (optionsOf(other).includes(option) ? [name] : []));
    context.problem([option], `"${option}" is an option of lookup: ${others.join(' and ')}, not of lookup: ${lookup}`);
  }
  if (options[kind.required] === undefined) context.problem(['lookup'], `lookup: ${lookup} needs the option "${kind.required}"`);
}

function optionsOf({ required, optional }: Kind): OptionName[] {
  return [required, ...optional];
}

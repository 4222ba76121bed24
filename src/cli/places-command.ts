import { excerpt } from '../core/answer/response.ts';
import { usageError } from '../core/failure.ts';
import { countryNamed, noCountry } from '../places/country-names.ts';
import { loadCategoryList } from '../places/data/categories/categories.ts';
import { type ChainCandidate, loadChainSearch } from '../places/data/chains/chains.ts';
import { dataFolder } from '../places/late-lookups.ts';
import { noLanguage } from '../places/lookup.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { tableText } from './show/table.ts';
import { printJson, type Terminal } from './terminal.ts';

interface ChainsOptions {
  readonly country?: string;
  readonly category?: string;
  readonly limit: number;
  readonly json?: boolean;
}

export async function chainsCommand(name: string, options: ChainsOptions, terminal: Terminal): Promise<number> {
  refuseBlank('a name', name);
  const country = options.country === undefined ? undefined : countryOf(options.country);
  const category = options.category === undefined ? undefined : await categoryOf(options.category);
  const { chains, doubt } = (await loadChainSearch(dataFolder))({ name, country, category });
  const found = chains.slice(0, options.limit);
  if (found.length === 0) return notFound('chain', name, options, terminal);
  if (options.json)
    await printJson(
      found.map((chain) => ({ ...chain, countries: [...chain.countries] })),
      terminal,
    );
  else {
    const rows = [['name', 'id', 'category', 'countries', 'score'], ...found.map(chainCells)];
    await terminal.print(tableText(rows, { width: terminal.width, cut: [0, 3] }).join('\n'));
    terminal.say(matchText(found[0] as ChainCandidate, doubt));
  }
  return exitCodes.success;
}

function matchText({ score, method }: ChainCandidate, doubt: string | null): string {
  const found = `${method}, ${score.toFixed(2)}`;
  if (score < minScore) return `no match: ${found} is below min_score ${minScore}`;
  return `match: ${found} is at least min_score ${minScore}${doubt === null ? '' : `\ndoubt: ${doubt}`}`;
}

/** The default of the option `min_score` of nodes with `lookup: chain`. */
const minScore = 0.85;

function chainCells({ name, id, category, countries, score }: ChainCandidate): string[] {
  return [name, id ?? '', category ?? '', countriesText(countries), score.toFixed(2)];
}

const maxCountries = 6;

function countriesText(countries: readonly string[]): string {
  if (countries[0] === '001') return 'worldwide';
  const others = countries.length - maxCountries;
  return `${countries.slice(0, maxCountries).join(' ')}${others > 0 ? ` +${others}` : ''}`;
}

function countryOf(text: string): string {
  const code = countryNamed(text);
  if (code === undefined) throw usageError(`--country: ${noCountry(text)}`);
  return code;
}

/** Throws an AutomateError (`usage`) if the words match no category, or more than one. */
async function categoryOf(words: string): Promise<string> {
  const { loadCategoryNames } = await import('../places/data/categories/category-names.ts');
  const named = loadCategoryNames(dataFolder)(words);
  if ('id' in named) return named.id;
  const choices = named.choices.length === 0 ? 'find one: automate places categories WORDS' : `choose one of ${named.choices.join(', ')}`;
  const reason = named.reason === 'ambiguous' ? `the category "${words}" is ambiguous` : `no category is called "${words}"`;
  throw usageError(`--category: ${reason}\n${choices}`);
}

interface CategoriesOptions {
  readonly language?: string;
  readonly json?: boolean;
}

const maxShown = 10;

/** Maximum length of a category's list of synonyms, in characters. */
const maxWords = 60;

export async function categoriesCommand(words: string | undefined, options: CategoriesOptions, terminal: Terminal): Promise<number> {
  const wrong = options.language === undefined ? undefined : noLanguage(options.language);
  if (wrong !== undefined) throw usageError(`--language: ${wrong}`);
  if (words !== undefined) refuseBlank('words', words);
  const all = loadCategoryList(dataFolder)(words, options.language);
  const found = words === undefined ? all : all.slice(0, maxShown);
  if (found.length === 0) return notFound('category', words ?? '', options, terminal);
  const rows = found.map(({ id, name, words: others }) => [id, name, excerpt(others.join(', '), maxWords)]);
  if (options.json)
    await printJson(
      found.map((one) => ({ ...one, tags: { ...one.tags }, words: [...one.words] })),
      terminal,
    );
  else await terminal.print(tableText([['id', 'name', 'other words'], ...rows], { width: terminal.width, cut: [1, 2] }).join('\n'));
  return exitCodes.success;
}

async function notFound(what: string, words: string, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  if (json) await printJson([], terminal);
  terminal.say(`no ${what} fits "${words}"`);
  return exitCodes.someFailed;
}

function refuseBlank(what: string, text: string): void {
  if (!/[\p{L}\p{N}]/u.test(text)) throw usageError(`expected ${what}, found ${JSON.stringify(text)}`);
}

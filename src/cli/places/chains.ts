import { exitCodes } from '../../app/exit-codes.ts';
import { dataFolder } from '../../app/ports/late-lookups.ts';
import { AutomateError } from '../../core/failure.ts';
import { noCountry } from '../../core/lookups/country.ts';
import { countryNamed } from '../../core/lookups/country-names.ts';
import { type ChainCandidate, loadChainSearch } from '../../io/lookups/chains/chains.ts';
import { printJson } from '../show/print-json.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import { notFound, refuseBlank } from './not-found.ts';

/** The options of `automate places chains`. */
interface ChainsOptions {
  readonly country?: string;
  readonly category?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** Prints the chains that a name may mean. Returns the exit code. */
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

/** Says whether a run would match the best candidate, and the doubt about it. */
function matchText({ score, method }: ChainCandidate, doubt: string | null): string {
  const found = `${method}, ${score.toFixed(2)}`;
  if (score < minScore) return `no match: ${found} is below min_score ${minScore}`;
  return `match: ${found} is at least min_score ${minScore}${doubt === null ? '' : `\ndoubt: ${doubt}`}`;
}

/** The default `min_score` of `lookup: chain`. */
const minScore = 0.85;

function chainCells({ name, id, category, countries, score }: ChainCandidate): string[] {
  return [name, id ?? '', category ?? '', countriesText(countries), score.toFixed(2)];
}

/** Most countries that are named. */
const maxCountries = 6;

function countriesText(countries: readonly string[]): string {
  if (countries[0] === '001') return 'worldwide';
  const others = countries.length - maxCountries;
  return `${countries.slice(0, maxCountries).join(' ')}${others > 0 ? ` +${others}` : ''}`;
}

function countryOf(text: string): string {
  const code = countryNamed(text);
  if (code === undefined) throw new AutomateError('usage', `--country: ${noCountry(text)}`);
  return code;
}

/** The id of a category. Throws an AutomateError (`usage`) for words that mean none, or several. */
async function categoryOf(words: string): Promise<string> {
  const { loadCategoryNames } = await import('../../io/lookups/categories/category-names.ts');
  const named = loadCategoryNames(dataFolder)(words);
  if ('id' in named) return named.id;
  const choices = named.choices.length === 0 ? 'find one: automate places categories WORDS' : `choose one of ${named.choices.join(', ')}`;
  const reason = named.reason === 'ambiguous' ? `the category "${words}" may mean several` : `no category is called "${words}"`;
  throw new AutomateError('usage', `--category: ${reason}\n${choices}`);
}

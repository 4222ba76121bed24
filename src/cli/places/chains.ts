import { AutomateError } from '../../core/failure.ts';
import { countryNamed, noCountry } from '../../places/country-names.ts';
import { type ChainCandidate, loadChainSearch } from '../../places/data/chains/chains.ts';
import { dataFolder } from '../../places/late-lookups.ts';
import { exitCodes } from '../../run/exit-codes.ts';
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

/** Prints the retail chains that a name might refer to. Returns the exit code. */
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

/** Returns text that says whether a run would accept the best candidate, and why the match is doubtful. */
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

/** Maximum number of countries that are listed for a chain. */
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

/** Returns the id of a place category. Throws an AutomateError (`usage`) if the words match no category, or more than one. */
async function categoryOf(words: string): Promise<string> {
  const { loadCategoryNames } = await import('../../places/data/categories/category-names.ts');
  const named = loadCategoryNames(dataFolder)(words);
  if ('id' in named) return named.id;
  const choices = named.choices.length === 0 ? 'find one: automate places categories WORDS' : `choose one of ${named.choices.join(', ')}`;
  const reason = named.reason === 'ambiguous' ? `the category "${words}" is ambiguous` : `no category is called "${words}"`;
  throw new AutomateError('usage', `--category: ${reason}\n${choices}`);
}

import { excerpt } from '../../core/answer/response.ts';
import { AutomateError } from '../../core/failure.ts';
import { loadCategoryList } from '../../places/data/categories/categories.ts';
import { dataFolder } from '../../places/late-lookups.ts';
import { noLanguage } from '../../places/lookup.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { printJson } from '../show/print-json.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import { notFound, refuseBlank } from './not-found.ts';

/** The options of `automate places categories`. */
interface CategoriesOptions {
  readonly language?: string;
  readonly json?: boolean;
}

/** Maximum number of place categories that are printed for a search. */
const maxShown = 10;

/** Maximum length of a category's list of synonyms, in characters. */
const maxWords = 60;

/** Prints the place categories that match the words, or all categories if there are no words. Returns the exit code. */
export async function categoriesCommand(words: string | undefined, options: CategoriesOptions, terminal: Terminal): Promise<number> {
  const wrong = options.language === undefined ? undefined : noLanguage(options.language);
  if (wrong !== undefined) throw new AutomateError('usage', `--language: ${wrong}`);
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

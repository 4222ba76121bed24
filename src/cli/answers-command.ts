import { rmSync } from 'node:fs';
import { AutomateError, usageError } from '../core/failure.ts';
import { bytesText, counted } from '../core/text/number.ts';
import { deleteDatabase } from '../files/database.ts';
import { similarFile } from '../files/folder.ts';
import { takeLock } from '../files/lock.ts';
import { realFile, statOf } from '../files/stat.ts';
import type { AnswersDatabase } from '../http/answers/answers-database.ts';
import { openAnswersDatabase, openAnswersToRead } from '../http/answers/kept-answers.ts';
import { answersPath } from '../output/output-plan.ts';
import { tableText } from './show/table.ts';
import { indentedJson, type Terminal } from './terminal.ts';

export async function answersCommand(out: string, options: { readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const path = answersPath(out);
  const { answers, bytes, oldestMs, newestMs } = await keptIn(out, (database) => database.totals());
  const [oldest, newest] = [oldestMs, newestMs].map((ms) => (ms === undefined ? undefined : new Date(ms).toISOString()));
  if (options.json) {
    const facts = { path, answers, bytes, oldest: oldest ?? null, newest: newest ?? null };
    await terminal.print(indentedJson(facts));
    return;
  }
  const rows = [
    ['path', path],
    ['kept', `${counted(answers, 'answer')}, ${bytesText(bytes)}`],
    ...(oldest === undefined ? [] : [['oldest', oldest]]),
    ...(newest === undefined ? [] : [['newest', newest]]),
  ];
  await terminal.print(tableText(rows).join('\n'));
}

/** Throws an AutomateError (`output-exists`) while a run writes the output. */
export async function clearCommand(out: string, { older }: { readonly older?: number }, terminal: Terminal): Promise<undefined> {
  const path = answersPath(out);
  if (!statOf(path)) noneOf(out);
  const lock = takeLock(realFile(out), 'out');
  try {
    terminal.say(
      await (older === undefined ? clearAll(path) : deletedText(await use(path, (database) => database.clear(Date.now() - older)))),
    );
  } finally {
    lock.release();
  }
}

/** Also deletes a file that cannot be read. */
async function clearAll(path: string): Promise<string> {
  let count: number | undefined;
  try {
    count = await use(path, (database) => database.totals().answers);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
  }
  deleteDatabase(path);
  rmSync(`${path}-journal`, { force: true });
  return count === undefined ? 'the kept answers could not be read, so they are deleted' : deletedText(count);
}

function deletedText(count: number): string {
  return `${counted(count, 'kept answer')} ${count === 1 ? 'is' : 'are'} deleted`;
}

/** Throws an AutomateError (`usage`) if no answers are kept for the output. */
export function keptIn<Result>(out: string, act: (database: AnswersDatabase) => Result): Promise<Result> {
  const path = answersPath(out);
  return statOf(path) ? use(path, act, openAnswersToRead) : noneOf(out);
}

async function use<Result>(path: string, act: (database: AnswersDatabase) => Result, open = openAnswersDatabase): Promise<Result> {
  const database = open(path);
  try {
    return act(database);
  } finally {
    await database.close();
  }
}

function noneOf(out: string): never {
  const why = statOf(out)
    ? `${out} has no kept answers: its runs had no --keep-answers, or their answers were deleted`
    : `${out}: there is no such file${similarFile(out)}`;
  throw usageError(why);
}

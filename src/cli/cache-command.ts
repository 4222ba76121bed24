import { existsSync } from 'node:fs';
import { AutomateError } from '../core/failure.ts';
import { bytesText, counted } from '../core/text/number.ts';
import { deleteDatabase, isDamaged } from '../files/database.ts';
import { systemReason } from '../files/naming-errors.ts';
import { AnswersFile } from '../http/cache/answers-file.ts';
import { cachePath, maxCacheBytes } from '../http/cache/cached-answer.ts';
import { tableText } from './show/table.ts';
import { indentedJson, type Terminal } from './terminal.ts';

export async function infoCommand(options: { readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const path = cachePath(process.env);
  const maxBytes = maxCacheBytes(process.env);
  const { answers, bytes, oldest, newest } = existsSync(path) ? useCache(path, answersIn) : none;
  if (options.json) {
    const facts = { path, entries: answers, bytes, max_bytes: maxBytes, oldest: oldest ?? null, newest: newest ?? null };
    await terminal.print(indentedJson(facts));
  } else {
    const rows = [
      ['path', path],
      ['cached', `${counted(answers, 'answer')}, ${bytesText(bytes)} of at most ${bytesText(maxBytes)}`],
      ...(oldest === undefined ? [] : [['oldest', oldest]]),
      ...(newest === undefined ? [] : [['newest', newest]]),
    ];
    await terminal.print(tableText(rows).join('\n'));
  }
}

interface CachedAnswers {
  readonly answers: number;
  readonly bytes: number;
  readonly oldest?: string;
  readonly newest?: string;
}

const none: CachedAnswers = { answers: 0, bytes: 0 };

function answersIn(file: AnswersFile): CachedAnswers {
  const span = file.span();
  return { ...file.size(), ...(span && { oldest: cachedTime(span.oldestMs), newest: cachedTime(span.newestMs) }) };
}

function cachedTime(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? 'unknown' : time.toISOString();
}

/** Active runs continue, and can cache new responses. */
export async function clearCommand(terminal: Terminal): Promise<undefined> {
  const path = cachePath(process.env);
  if (existsSync(path)) terminal.say(clearCache(path));
  else terminal.say('no answers are cached');
}

function clearCache(path: string): string {
  try {
    const { answers, bytes } = useCache(path, (file) => file.clear());
    return `${counted(answers, 'answer')} (${bytesText(bytes)}) ${answers === 1 ? 'is' : 'are'} deleted`;
  } catch (error) {
    if (!(error instanceof AutomateError) || !isUnreadable(error.cause)) throw error;
    deleteDatabase(path);
    return 'the cache could not be read, so it was deleted';
  }
}

/** True if the cache file is damaged or was written by a newer version. */
function isUnreadable(error: unknown): boolean {
  return isDamaged(error) || (error instanceof Error && !('code' in error));
}

const timeoutMs = 10_000;

function useCache<Result>(path: string, act: (file: AnswersFile) => Result): Result {
  let file: AnswersFile | undefined;
  try {
    file = new AnswersFile(path, timeoutMs);
    return act(file);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    const advice = isUnreadable(error) ? '\nto start a new one: automate cache clear' : '';
    throw new AutomateError('output', `the cache ${path} cannot be used: ${systemReason(error as Error)}${advice}`, { cause: error });
  } finally {
    file?.close();
  }
}

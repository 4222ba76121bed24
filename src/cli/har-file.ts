import { usageError } from '../core/failure.ts';
import { counted } from '../core/text/number.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { type Har, type HarEntry, readHar, recordedRequest } from '../starter/har.ts';
import type { Example } from '../starter/starter-references.ts';
import { recordedMap } from './recorded-answer.ts';
import { tableText } from './show/table.ts';
import { readJsonFile, shownUrl } from './source-file.ts';

/** Throws an AutomateError (`input`) if the file is not a recording. */
export async function readHarFile(file: string): Promise<Har> {
  const smaller = 'empty the list of requests in the browser, repeat only the steps that you need, and export again';
  return readHar(await readJsonFile(file, 'a HAR file', smaller), file);
}

/** Throws an AutomateError (`usage`) if there is no such entry, or if a flow cannot send its request. */
export function harEntry({ entries }: Har, number: number, file: string): HarEntry {
  const entry = entries[number - 1];
  const list = `list the requests: automate init --from-har ${shellWord(file)}`;
  if (!entry) throw usageError(`${file} has no entry ${number}, but ${counted(entries.length, 'entry')}\n${list}`);
  if (entry.kind === undefined)
    throw usageError(
      `entry ${number} of ${file} does not look like a call of an API: ${entry.method} with an answer of type ${entry.answer.type || 'unknown'}\n${list}`,
    );
  return entry;
}

/** Lists the requests that look like calls of an API, with their positions in the file. Secrets in the URLs are masked. */
export function harListing({ entries, secrets }: Har, file: string, width: number | undefined): string {
  const calls = entries.filter(({ kind }) => kind !== undefined);
  const count = counted(entries.length, 'request');
  if (calls.length === 0) return `${file} has ${count}, and none looks like a call of an API (JSON, XML or a form)\n`;
  const rows = calls.map(({ number, method, url, answer, kind }) => [
    String(number),
    method,
    shownUrl(url, secrets),
    answer.status === 0 ? 'no answer' : String(answer.status),
    kind ?? '',
  ]);
  const lines = tableText([['entry', 'method', 'url', 'status', 'data'], ...rows], { width, cut: [2] });
  const next = `make a flow from one of them: automate init --from-har ${shellWord(file)} --entry ${calls[0]?.number}`;
  return `${[...lines, '', `${calls.length} of ${count} look like calls of an API`, next].join('\n')}\n`;
}

export async function harSource(har: Har, entry: HarEntry, file: string, example: Example | undefined) {
  const { request, notes } = recordedRequest(entry);
  const answer = await recordedMap(entry.answer, { url: entry.url, example, secrets: har.secrets });
  return {
    request: { ...request, map: answer.map },
    notes: [...notes, ...answer.notes],
    comments: [`entry ${entry.number} of ${file}`],
    secrets: har.secrets,
  };
}

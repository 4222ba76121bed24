import { usageError } from '../core/failure.ts';
import { counted } from '../core/text/number.ts';
import { escapedControls, shellWord } from '../core/text/quoted-word.ts';
import { didYouMean, listedNames } from '../core/text/suggest.ts';
import { type JsonPart, listOf, mediaType, partOf, textIn } from '../starter/json-parts.ts';
import { type Collection, type PostmanRequest, readCollection } from '../starter/postman/collection.ts';
import { translatedRequest } from '../starter/postman/postman-request.ts';
import type { Example } from '../starter/starter-references.ts';
import { recordedMap } from './recorded-answer.ts';
import { tableText } from './show/table.ts';
import { readJsonFile, shownUrl } from './source-file.ts';

/** Throws an AutomateError (`input`) if the file is not a collection. */
export async function readCollectionFile(file: string): Promise<Collection> {
  const smaller = 'export only the folder that you need: duplicate it into a collection of its own';
  return readCollection(await readJsonFile(file, 'a Postman collection', smaller), file);
}

/** Throws an AutomateError (`usage`) if no request or more than one has this name. */
export function requestNamed({ requests }: Collection, name: string, file: string): PostmanRequest {
  const plain = (text: string) => text.trim().replace(/\s+/g, ' ').toLowerCase();
  const isNamed = ({ path }: PostmanRequest, same: (text: string) => string) =>
    [pathOf(path), pathOf(path).slice(1), path.at(-1) ?? ''].some((own) => same(own) === same(name));
  const exact = requests.filter((request) => isNamed(request, (text) => text));
  const found = exact.length > 0 ? exact : requests.filter((request) => isNamed(request, plain));
  const [only, ...more] = found;
  if (only && more.length === 0) return only;
  if (only) {
    const paths = found.map(({ path }) => `  ${escapedControls(pathOf(path))}`).join('\n');
    const advice =
      new Set(found.map(({ path }) => pathOf(path))).size === found.length ? 'choose one by its path' : 'rename one of them in Postman';
    throw usageError(`${file} has ${found.length} requests named "${name}": ${advice}\n${paths}`);
  }
  const inFolder = requests.filter(({ path }) => plain(pathOf(path)).startsWith(`/${plain(name).replace(/^\//, '')}/`));
  const list = `list the requests: automate init --from-postman ${shellWord(file)}`;
  if (inFolder.length > 0) {
    const names = listedNames(inFolder.map(({ path }) => pathOf(path).slice(1)));
    throw usageError(`"${name}" is a folder of ${file}; expected one of its requests: ${names}\n${list}`);
  }
  const choices = requests.flatMap(({ path }) => [path.at(-1) ?? '', pathOf(path).slice(1)]);
  throw usageError(`${file} has no request "${name}"${didYouMean(name, choices)}\n${list}`);
}

/** Begins with a slash, so that it also identifies a request outside of all folders. */
function pathOf(path: readonly string[]): string {
  return `/${path.join('/')}`;
}

/** Lists all requests with their paths. Secrets in the URLs are masked. */
export function collectionListing({ requests, secrets }: Collection, file: string, width: number | undefined): string {
  if (requests.length === 0) return `${file} has no requests\n`;
  const rows = requests.map(({ path, request }) => [
    escapedControls(pathOf(path).slice(1)),
    textIn(request.method) ?? 'GET',
    shownUrl(textIn(request.url) ?? textIn(partOf(request.url).raw) ?? '', secrets),
  ]);
  const lines = tableText([['request', 'method', 'url'], ...rows], { width, cut: [2] });
  const next = `make a flow from one of them: automate init --from-postman ${shellWord(file)} --request ${shellWord(rows[0]?.[0] ?? '')}`;
  return `${[...lines, '', counted(requests.length, 'request'), next].join('\n')}\n`;
}

/** `map` comes from the first saved answer that is a success. */
export async function postmanSource({ secrets }: Collection, chosen: PostmanRequest, example: Example | undefined) {
  const { request, ...translated } = translatedRequest(chosen, secrets, example);
  const answers = chosen.answers.map(answerOf);
  const success = answers.find(({ status, text }) => status >= 200 && status < 300 && text !== undefined);
  const answer = await recordedMap(success, { url: request.url, example, secrets });
  return { ...translated, request: { ...request, map: answer.map }, notes: [...translated.notes, ...answer.notes], secrets };
}

function answerOf({ code, body, header }: JsonPart) {
  const type = listOf(header)
    .map(partOf)
    .find(({ key }) => /^content-type$/i.test(String(key)))?.value;
  return {
    status: Number(code) || 0,
    text: textIn(body) || undefined,
    type: mediaType(textIn(type) ?? ''),
  };
}

import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { usageError } from '../core/failure.ts';
import { referableNames } from '../core/template/template.ts';
import type { ValuePath } from '../core/value/value.ts';
import type { JsonPart } from '../starter/json-parts.ts';
import type { KnownSecrets } from '../starter/known-secrets.ts';
import type { AnswerExample } from '../starter/openapi/described-answer.ts';
import type { About, UrlBase } from '../starter/starter.ts';
import type { Example } from '../starter/starter-references.ts';
import type { CredentialToStore } from '../starter/starter-secrets.ts';
import type { WrittenRequest } from '../starter/written-node.ts';
import { curlRequest } from './curl.ts';
import { unreadableFile } from './source-file.ts';
import type { Terminal } from './terminal.ts';

export interface GivenSource {
  readonly fromCurl?: string;
  readonly fromOpenapi?: string;
  readonly operation?: string;
  readonly fromHar?: string;
  readonly entry?: number;
  readonly fromPostman?: string;
  readonly request?: string;
  readonly in?: string;
}

interface SourceRequest {
  readonly request: WrittenRequest;
  /** Records whose fields still have to be inserted into the request. */
  readonly example: Example | undefined;
  /** Parts of the source (such as a curl command) that the flow does not include. */
  readonly notes: readonly string[];
  readonly shellVariables?: readonly string[];
  /** False if the URL's host is only a placeholder. */
  readonly isNamedByHost: boolean;
  readonly description?: string;
  readonly comments?: readonly string[];
  readonly examples?: readonly ValuePath[];
  readonly credentials?: readonly CredentialToStore[];
  /** True if the request needs a field that is not a column of the input. A note then says so. */
  readonly lacksColumns?: boolean;
  readonly answer?: AnswerExample;
  readonly samples?: ReadonlyMap<string, unknown>;
  readonly secrets?: KnownSecrets;
  readonly vars?: JsonPart;
  readonly base?: UrlBase | undefined;
  readonly computed?: About['computed'] | undefined;
}

/** `example` contains records of the input; undefined without an input. `isText` is true if all fields are strings. */
type RequestSource = (example: Example | undefined, isText: boolean) => SourceRequest | Promise<SourceRequest>;

const sources = {
  fromCurl: '--from-curl',
  fromOpenapi: '--from-openapi',
  fromHar: '--from-har',
  fromPostman: '--from-postman',
} as const;

/** The options that choose a request in a file, with the options that name this file. */
const choices = { operation: 'fromOpenapi', entry: 'fromHar', request: 'fromPostman' } as const;

/** Throws an AutomateError (`usage`) for two sources, or for two uses of stdin. */
export function checkSources(given: GivenSource): void {
  const [first, second] = Object.entries(sources).flatMap(([name, option]) =>
    given[name as keyof GivenSource] === undefined ? [] : [option],
  );
  if (second !== undefined) throw usageError(`expected ${first} or ${second}, found both`);
  for (const [name, source] of Object.entries(choices)) {
    if (given[name as keyof typeof choices] !== undefined && given[source] === undefined)
      throw usageError(`--${name} works only with ${sources[source]} FILE`);
  }
  if (given.in === '-' && given.fromCurl === '-') throw usageError('--in and --from-curl both read stdin; only one of them can');
}

/** The requests in a file from which nobody has chosen one; undefined if nothing is to be listed. */
export async function requestList({ fromHar, entry, fromPostman, request }: GivenSource, { width }: Terminal): Promise<string | undefined> {
  if (fromHar !== undefined && entry === undefined) {
    const { harListing, readHarFile } = await import('./har-file.ts');
    return harListing(await readHarFile(fromHar), fromHar, width);
  }
  if (fromPostman === undefined || request !== undefined) return undefined;
  const { collectionListing, readCollectionFile } = await import('./postman-file.ts');
  return collectionListing(await readCollectionFile(fromPostman), fromPostman, width);
}

/** Throws an AutomateError (`usage`) if the source contains no request that a flow can send. */
export async function requestSource({
  fromCurl,
  fromOpenapi,
  operation,
  fromHar,
  entry,
  fromPostman,
  request,
}: GivenSource): Promise<RequestSource> {
  if (fromCurl !== undefined) {
    const read = curlRequest(fromCurl === '-' ? await textOf(process.stdin) : fromCurl);
    return (example) => ({ ...read, example, isNamedByHost: true });
  }
  if (fromOpenapi !== undefined) return operationSource(fromOpenapi, operation);
  if (fromHar !== undefined && entry !== undefined) {
    const { harEntry, harSource, readHarFile } = await import('./har-file.ts');
    const har = await readHarFile(fromHar);
    const chosen = harEntry(har, entry, fromHar);
    return async (example) => ({ ...(await harSource(har, chosen, fromHar, example)), example, isNamedByHost: true });
  }
  if (fromPostman !== undefined && request !== undefined) {
    const { readCollectionFile, requestNamed, postmanSource } = await import('./postman-file.ts');
    const collection = await readCollectionFile(fromPostman);
    const chosen = requestNamed(collection, request, fromPostman);
    return async (example) => ({ ...(await postmanSource(collection, chosen, example)), example, isNamedByHost: true });
  }
  return (example) => ({ request: defaultRequest(example), example, notes: [], isNamedByHost: false });
}

/** Throws an AutomateError: `input` if the file cannot be read, `usage` if there is no such operation. */
async function operationSource(file: string, name: string | undefined): Promise<RequestSource> {
  const { operationNamed, readOpenApi } = await import('../starter/openapi/document.ts');
  const { operationRequest } = await import('../starter/openapi/operation-request.ts');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unreadableFile(file, error);
  });
  const document = await readOpenApi(text.replace(/^\uFEFF/, ''), file);
  const operation = operationNamed(document, name);
  // Fields of the records are matched by name only, because the values in the API's example do not come from a record.
  return (example, isText) => ({
    ...operationRequest(document, operation, { example, isText }),
    example: example && { ...example, fields: undefined },
    isNamedByHost: true,
  });
}

/** Fetches one item. The item's id is the first field that looks like an id, or else the first field. */
function defaultRequest(example: Example | undefined): WrittenRequest {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const column = columns.find((name) => /^id$/i.test(name)) ?? columns.find((name) => /[_-]id$/i.test(name)) ?? columns[0] ?? 'id';
  return { method: 'GET', url: `https://api.example.com/items/{{${names.get(column) ?? column}}}`, headers: [] };
}

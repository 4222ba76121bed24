import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { LineCounter, parseDocument } from 'yaml';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import { counted, formatCount } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { orUndefined } from '../../core/value/value.ts';
import { type JsonPart, listOf, partOf, textIn } from '../json-parts.ts';
import { plainName } from '../written-node.ts';

export type OpenApiObject = JsonPart;

/** References are resolved when needed, so a broken one does no harm in a part that is not used. */
export interface OpenApi {
  readonly root: OpenApiObject;
  readonly file: string;
  /** Follows a `$ref`. Empty for other values. Throws an AutomateError (`input`) if the `$ref` points to nothing. */
  at(value: unknown): OpenApiObject;
  /** Merges `allOf`, and takes the first of `oneOf` or `anyOf`. Throws an AutomateError (`input`) for a broken `$ref`. */
  schema(value: unknown): OpenApiObject;
}

/** Parses OpenAPI 3.0 or 3.1. Reads no other files and sends no requests. Throws an AutomateError (`input`) for any other text. */
export async function readOpenApi(text: string, file: string): Promise<OpenApi> {
  const root = partOf(parsedDocument(text, file));
  checkVersion(root, file);
  const refs = await new $RefParser().resolve(root, { resolve: { external: false } });
  const at = (value: unknown): OpenApiObject => {
    const { $ref } = partOf(value);
    return typeof $ref === 'string' ? partOf(followed($ref)) : partOf(value);
  };
  const merged = new Map<OpenApiObject, OpenApiObject>();
  let expanded = 0;
  const schema = (value: unknown): OpenApiObject => {
    if (++expanded > maxExpanded) throw tooManyParts(file);
    return mergedSchema(value, at, merged);
  };
  return { root, file, at, schema };

  function followed($ref: string): unknown {
    if (!$ref.startsWith('#')) throw outside($ref);
    try {
      return refs.get($ref);
    } catch (error) {
      if ((error as { code?: string }).code === 'EMISSINGPOINTER')
        throw new AutomateError('input', `${file}: the reference "${$ref}" points to nothing`);
      throw outside($ref);
    }
  }

  function outside($ref: string): AutomateError {
    const advice = 'only the file itself is read: put everything into one file first, as "npx @redocly/cli bundle" does';
    return new AutomateError('input', `${file}: the reference "${$ref}" points outside the file\n${advice}`);
  }
}

function checkVersion({ openapi, swagger }: OpenApiObject, file: string): void {
  const version = String(openapi ?? swagger ?? '');
  if (openapi !== undefined && /^3\.[01](?:\.|$)/.test(version)) return;
  const found = version === '' ? 'no "openapi" at its top' : `${swagger === undefined ? 'OpenAPI' : 'Swagger'} ${version.slice(0, 20)}`;
  const advice = swagger === undefined ? '' : `\nconvert it on your computer first: npx swagger2openapi ${shellWord(file)} -o openapi.json`;
  throw new AutomateError('input', `${file}: expected OpenAPI 3.0 or 3.1, found ${found}${advice}`);
}

/** Parses the file. Tries JSON first, because the YAML parser is much slower for JSON. */
function parsedDocument(text: string, file: string): unknown {
  const json = /^\s*\{/.test(text) ? orUndefined(() => JSON.parse(text) as unknown) : undefined;
  if (json !== undefined) return json;
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error) {
    const { line, col } = counter.linePos(error.pos[0]);
    throw new AutomateError('input', `${file}:${line}:${col}: not valid YAML or JSON: ${error.message}`);
  }
  try {
    return document.toJS();
  } catch (cause) {
    throw new AutomateError('input', `${file}: not valid YAML: ${(cause as Error).message}`);
  }
}

/** Maximum number of schemas that are used for one operation. References to references can multiply without end. */
const maxExpanded = 100_000;

function tooManyParts(file: string): AutomateError {
  const message = `${file}: the schemas of the operation have more than 100,000 parts once their references are expanded`;
  return new AutomateError('input', `${message}\nremove parts of its request or its answer that you do not need from the file`);
}

/** Merges each schema only once. `merged` are the schemas that are merged already, keyed by their written form. */
function mergedSchema(value: unknown, at: OpenApi['at'], merged: Map<OpenApiObject, OpenApiObject>): OpenApiObject {
  const written = at(value);
  const known = merged.get(written);
  if (known) return known;
  const { allOf, oneOf, anyOf, ...own } = written;
  // A schema that contains itself ends here.
  merged.set(written, own);
  const choices = [...listOf(oneOf), ...listOf(anyOf)].filter((choice) => at(choice).type !== 'null');
  const parts = [...listOf(allOf), ...choices.slice(0, 1)].map((part) => mergedSchema(part, at, merged));
  const members = [...parts, own].map(({ properties }) => partOf(properties));
  const all = combined([...parts, own]);
  const result = members.some((each) => Object.keys(each).length > 0) ? { ...all, properties: combined(members) } : all;
  merged.set(written, result);
  return result;
}

function combined(parts: readonly OpenApiObject[]): OpenApiObject {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

export interface Operation {
  readonly id: string | undefined;
  readonly method: string;
  readonly path: string;
  /** The object that describes the operation. It includes the parameters and servers of the operation's path. */
  readonly part: OpenApiObject;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

function operationsOf({ root, at }: OpenApi): Operation[] {
  return Object.entries(partOf(root.paths)).flatMap(([path, item]) => {
    const { parameters, servers, ...own } = at(item);
    return methods.flatMap((method): Operation[] => {
      if (own[method] === undefined) return [];
      const part = at(own[method]);
      const all = [...listOf(parameters), ...listOf(part.parameters)];
      const id = textIn(part.operationId);
      return [{ id, method: method.toUpperCase(), path, part: { servers, ...part, parameters: all } }];
    });
  });
}

const maxListed = 200;

/** By operationId, or as in `GET /pets/{petId}`. Otherwise throws an AutomateError (`usage`) with those that contain the text, or all. */
export function operationNamed(document: OpenApi, name: string | undefined): Operation {
  const operations = operationsOf(document);
  const written = (name ?? '').trim().replace(/\s+/g, ' ').toLowerCase();
  const found =
    operations.find(({ id }) => id !== undefined && id === name) ??
    operations.find((operation) =>
      [operation.id ?? operationPlace(operation), operationPlace(operation)].some((own) => own.toLowerCase() === written),
    );
  if (found) return found;
  if (operations.length === 0)
    throw new AutomateError('input', `${document.file}: no operation with method GET, POST, PUT, PATCH or DELETE`);
  if (name === undefined) throw invalidOption('operation', `expected the id of an operation in ${document.file}\n${listed(operations)}`);
  const fitting = written === '' ? [] : operations.filter((operation) => searchText(operation).includes(written));
  if (fitting.length > 0) {
    const message = `${document.file} has no operation "${name}", but ${counted(fitting.length, 'operation')} with this text: choose one`;
    throw new AutomateError('usage', `${message}\n${listed(fitting)}`);
  }
  const choices = operations.map((operation) => operation.id ?? operationPlace(operation));
  throw new AutomateError('usage', `${document.file} has no operation "${name}"${didYouMean(name, choices)}\n${listed(operations)}`);
}

function listed(operations: readonly Operation[]): string {
  const lines = operations.slice(0, maxListed).map((operation) => `  ${operationText(operation)}`);
  if (operations.length <= maxListed) return lines.join('\n');
  const more = `and ${formatCount(operations.length - maxListed)} more; give a part of an id, path or summary instead, and only those that contain it are listed`;
  return [...lines, `  ${more}`].join('\n');
}

function searchText(operation: Operation): string {
  return `${operation.id ?? ''} ${operationPlace(operation)} ${textIn(operation.part.summary) ?? ''}`.replace(/\s+/g, ' ').toLowerCase();
}

function operationPlace({ method, path }: Operation): string {
  return `${method} ${path}`;
}

export function operationText(operation: Operation): string {
  const { id } = operation;
  return id === undefined ? operationPlace(operation) : `${plainName(id)}  ${operationPlace(operation)}`;
}

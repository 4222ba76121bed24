import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { LineCounter, parseDocument } from 'yaml';
import { AutomateError } from '../../core/failure.ts';
import { isMapping, orUndefined } from '../../core/value/value.ts';

/** An object in an OpenAPI file. Its members can be of any type, because real files often break the rules of OpenAPI. */
export type Part = Readonly<Record<string, unknown>>;

/** Returns the value if it is a mapping, otherwise an empty mapping. */
export function partOf(value: unknown): Part {
  return isMapping(value) ? value : {};
}

/** Returns the value if it is a list, otherwise an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value if it is a string, otherwise undefined. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * A parsed OpenAPI file. References are resolved only when they are needed, so a broken reference does no harm in a part that is not used.
 */
export interface OpenApi {
  readonly root: Part;
  /** The file's path for messages. */
  readonly file: string;
  /**
   * Returns the object, or the object that its `$ref` points to. Returns an empty object for any other value. Throws an AutomateError
   * (`input`) if the `$ref` points to nothing.
   */
  at(value: unknown): Part;
  /**
   * Returns the schema with all parts of `allOf` merged, and with only the first alternative of `oneOf` or `anyOf`. Throws an AutomateError
   * (`input`) if a `$ref` in it points to nothing.
   */
  schema(value: unknown): Part;
}

/**
 * Parses an OpenAPI 3.0 or 3.1 file. Reads no other files, and sends no requests. Throws an AutomateError (`input`) if the text is not such
 * a file.
 */
export async function readOpenApi(text: string, file: string): Promise<OpenApi> {
  const root = partOf(parsedDocument(text, file));
  checkVersion(root, file);
  const refs = await new $RefParser().resolve(root, { resolve: { external: false } });
  const at = (value: unknown): Part => {
    const { $ref } = partOf(value);
    return typeof $ref === 'string' ? partOf(followed($ref)) : partOf(value);
  };
  const merged = new Map<Part, Part>();
  let expanded = 0;
  const schema = (value: unknown): Part => {
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

function checkVersion({ openapi, swagger }: Part, file: string): void {
  const version = String(openapi ?? swagger ?? '');
  if (openapi !== undefined && /^3\.[01](?:\.|$)/.test(version)) return;
  const found = version === '' ? 'no "openapi" at its top' : `${swagger === undefined ? 'OpenAPI' : 'Swagger'} ${version.slice(0, 20)}`;
  const advice = swagger === undefined ? '' : '\nconvert it first, for example on https://converter.swagger.io';
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
function mergedSchema(value: unknown, at: OpenApi['at'], merged: Map<Part, Part>): Part {
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

/** Merges several objects. If two have a member with the same name, the later one wins. */
function combined(parts: readonly Part[]): Part {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

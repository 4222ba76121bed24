import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { LineCounter, parseDocument } from 'yaml';
import { AutomateError } from '../../../core/failure.ts';
import { isMapping, orUndefined } from '../../../core/value/value.ts';

/** An object of an OpenAPI file. Its members may be of any type: files in the wild break the rules of OpenAPI. */
export type Part = Readonly<Record<string, unknown>>;

/** The value if it is a mapping, else an empty one. */
export function partOf(value: unknown): Part {
  return isMapping(value) ? value : {};
}

/** The value if it is a list, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a text. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An OpenAPI file whose references are followed when they are needed: a broken reference elsewhere does no harm. */
export interface OpenApi {
  readonly root: Part;
  /** The file as messages name it. */
  readonly file: string;
  /** The object, or the object that its `$ref` leads to; an empty object for any other value. Throws an AutomateError (`input`). */
  at(value: unknown): Part;
  /** The schema with its `allOf` merged, and the first choice of `oneOf` or `anyOf`. Throws an AutomateError (`input`). */
  schema(value: unknown): Part;
}

/** Reads an OpenAPI 3.0 or 3.1 file. Reads no other file, and sends nothing. Throws an AutomateError (`input`). */
export async function readOpenApi(text: string, file: string): Promise<OpenApi> {
  const root = partOf(parsedDocument(text, file));
  checkVersion(root, file);
  const refs = await new $RefParser().resolve(root, { resolve: { external: false } });
  const at = (value: unknown): Part => {
    const { $ref } = partOf(value);
    return typeof $ref === 'string' ? partOf(followed($ref)) : partOf(value);
  };
  return { root, file, at, schema: (value) => mergedSchema(value, at) };

  function followed($ref: string): unknown {
    if (!$ref.startsWith('#')) throw outside($ref);
    try {
      return refs.get($ref);
    } catch (error) {
      if ((error as { code?: string }).code === 'EMISSINGPOINTER')
        throw new AutomateError('input', `${file}: the reference "${$ref}" leads nowhere`);
      throw outside($ref);
    }
  }

  function outside($ref: string): AutomateError {
    const advice = 'only the file itself is read: put everything into one file first, as "npx @redocly/cli bundle" does';
    return new AutomateError('input', `${file}: the reference "${$ref}" leads out of the file\n${advice}`);
  }
}

function checkVersion({ openapi, swagger }: Part, file: string): void {
  const version = String(openapi ?? swagger ?? '');
  if (openapi !== undefined && /^3\.[01](?:\.|$)/.test(version)) return;
  const found = version === '' ? 'no "openapi" at its top' : `${swagger === undefined ? 'OpenAPI' : 'Swagger'} ${version.slice(0, 20)}`;
  const advice = swagger === undefined ? '' : '\nconvert it first, for example on https://converter.swagger.io';
  throw new AutomateError('input', `${file}: expected OpenAPI 3.0 or 3.1, found ${found}${advice}`);
}

/** The file's value. JSON is tried first: it is read much faster than YAML, which includes it. */
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

/** Deeper schemas refer to themselves. */
const maxDepth = 20;

function mergedSchema(value: unknown, at: OpenApi['at'], depth = 0): Part {
  const { allOf, oneOf, anyOf, ...own } = at(value);
  if (depth > maxDepth) return own;
  const choices = [...listOf(oneOf), ...listOf(anyOf)].filter((choice) => at(choice).type !== 'null');
  const parts = [...listOf(allOf), ...choices.slice(0, 1)].map((part) => mergedSchema(part, at, depth + 1));
  const members = [...parts, own].map(({ properties }) => partOf(properties));
  const merged = combined([...parts, own]);
  return members.some((each) => Object.keys(each).length > 0) ? { ...merged, properties: combined(members) } : merged;
}

/** The members of all parts. If two parts have a member of one name, the later part wins. */
function combined(parts: readonly Part[]): Part {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

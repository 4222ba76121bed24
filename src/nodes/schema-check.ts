import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { pathTo } from '../core/answer/path.ts';
import { excerpt } from '../core/answer/response.ts';
import { ExactNumber, isMapping, isObject, type Value } from '../core/value/value.ts';

export interface SchemaOptions {
  /** True if text such as `17` also counts as the number, or `true` as the boolean, that the schema expects: a cell of a table has no type. */
  readonly convertsText: boolean;
  /** Returns the text of another file that the schema refers to; the path is relative to the flow. Undefined if it cannot be read. */
  readonly read: (path: string) => string | undefined;
}

/** Number of places that a message names. */
const shownPlaces = 3;

/** A file that is no usable JSON Schema. */
export class SchemaError extends Error {
  constructor(file: string, reason: string) {
    super(`${file} is not a usable JSON Schema: ${reason}`);
  }
}

/** A file to which a schema refers cannot be read, which `read` has reported. */
export class UnreadFile extends Error {}

/** A compiled JSON Schema (json-schema.org), of draft 7 or 2020-12. */
export class SchemaCheck {
  readonly #validate: ValidateFunction;
  /** The members of the value that the schema names. */
  readonly members: ReadonlySet<string>;

  /** `file` is relative to the flow. Throws a SchemaError if the text is no JSON Schema or refers to none, and an UnreadFile. */
  constructor(file: string, text: string, options: SchemaOptions) {
    const schema = parsed(file, text);
    this.#validate = compiled(file, schema, options);
    const { properties, required } = schema;
    this.members = new Set([...(isMapping(properties) ? Object.keys(properties) : []), ...(Array.isArray(required) ? required : [])]);
  }

  /** Says where the value does not fit, at most three times; undefined if it fits. */
  problem(value: Value): string | undefined {
    // A check that converts texts changes the value.
    if (this.#validate(plainValue(value))) return undefined;
    return problemsText(this.#validate.errors ?? []);
  }
}

function problemsText(errors: readonly ErrorObject[]): string {
  const places = new Map<string, string>();
  for (const error of errors) {
    const { place, message } = problemText(error);
    if (!places.has(place)) places.set(place, `${place}: ${message}`);
  }
  const more = places.size - shownPlaces;
  return [...[...places.values()].slice(0, shownPlaces), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

type Schema = Record<string, unknown>;

function parsed(file: string, text: string): Schema {
  let schema: unknown;
  try {
    schema = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new SchemaError(file, `it is not JSON: ${excerpt((error as Error).message)}`);
  }
  if (!isMapping(schema)) throw new SchemaError(file, 'expected a JSON object');
  return schema as Schema;
}

/** A schema that does not name its draft is of 2020-12 if it is valid there, and otherwise of draft 7. */
function compiled(file: string, schema: Schema, options: SchemaOptions): ValidateFunction {
  const errors: unknown[] = [];
  for (const draft of draftsOf(file, schema)) {
    try {
      return compiledAs(draft, file, schema, options);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      errors.push(error);
    }
  }
  throw errors[0];
}

function draftsOf(file: string, { $schema: written }: Schema): (typeof Ajv | typeof Ajv2020)[] {
  if (written === undefined) return [Ajv2020, Ajv];
  if (/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(String(written))) return [Ajv2020];
  if (/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(String(written))) return [Ajv];
  throw new SchemaError(file, `$schema: expected draft 7 or 2020-12, found ${String(written)}`);
}

function compiledAs(Draft: typeof Ajv | typeof Ajv2020, file: string, schema: Schema, options: SchemaOptions): ValidateFunction {
  const ajv = new Draft({
    allErrors: true,
    strict: false,
    verbose: true,
    logger: false,
    // Otherwise 0.07 is no multiple of 0.01.
    multipleOfPrecision: 10,
    coerceTypes: options.convertsText,
  });
  formats.default(ajv);
  const uri = uriOf(file);
  refuseOtherThanSchema(ajv, file, schema);
  const root = identified(schema, uri);
  // Files beside it can refer back to it.
  accepted(file, () => ajv.addSchema(root));
  addFilesBeside(ajv, { file, schema: root, folder: folderOf(file) }, options);
  return accepted(file, () => ajv.compile(root));
}

/** Throws a SchemaError if Ajv cannot use the schema. */
function accepted<Result>(file: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    const [, reference] = /can't resolve reference (\S+)/.exec((error as Error).message) ?? [];
    if (reference === undefined) throw new SchemaError(file, (error as Error).message);
    throw new SchemaError(file, `there is no schema at ${reference}\nexpected a part of the file (#/$defs/name) or a file beside it`);
  }
}

function refuseOtherThanSchema(ajv: Ajv | Ajv2020, file: string, schema: Schema): void {
  if (!ajv.validateSchema(schema)) throw new SchemaError(file, problemsText(ajv.errors ?? []));
}

function uriOf(file: string): string {
  return new URL(encodeURI(file.replaceAll('\\', '/')), 'file:///').href;
}

/** With the absolute form of its `$id`, which can be relative, or with its own URI. */
function identified(schema: Schema, uri: string): Schema & { readonly $id: string } {
  const { $id = '' } = schema;
  return { ...schema, $id: URL.canParse(String($id)) ? String($id) : new URL(String($id), uri).href };
}

interface SchemaFile {
  readonly file: string;
  readonly schema: Schema & { readonly $id: string };
  /** Of the schema that the flow names. A schema from somebody else must not read any file of this machine. */
  readonly folder: string;
}

/** Adds the files that the schema refers to by relative names, and those to which they refer. Nothing is read from the network. */
function addFilesBeside(ajv: Ajv | Ajv2020, { file, schema, folder }: SchemaFile, options: SchemaOptions): void {
  const base = schema.$id;
  for (const reference of referencesIn(schema)) {
    const [name = ''] = reference.split('#');
    if (name === '' || URL.canParse(name) || !URL.canParse(name, base)) continue;
    const target = new URL(name, base).href;
    if (target === base || ajv.schemas[target] || ajv.refs[target]) continue;
    const path = pathBeside(file, decodeURI(name).replaceAll('\\', '/'), folder);
    if (path === undefined) throw new SchemaError(file, leadsOut(name));
    const text = options.read(path);
    if (text === undefined) throw new UnreadFile();
    const { $schema: _, ...written } = parsed(path, text);
    refuseOtherThanSchema(ajv, path, written);
    const found = identified(written, target);
    accepted(path, () => ajv.addSchema(found, target));
    addFilesBeside(ajv, { file: path, schema: found, folder }, options);
  }
}

function folderOf(file: string): string {
  return file.replaceAll('\\', '/').replace(/[^/]*$/, '');
}

/** Undefined if the file is not in the folder, or in a folder there. */
function pathBeside(file: string, name: string, folder: string): string | undefined {
  const names = folderOf(file).slice(folder.length).split('/').slice(0, -1);
  for (const part of name.split('/')) {
    if (part === '..' && names.length === 0) return undefined;
    if (part === '..') names.pop();
    else if (part !== '.') names.push(part);
  }
  return name.startsWith('/') ? undefined : folder + names.join('/');
}

function leadsOut(name: string): string {
  return `the reference ${name} leads out of its folder\nexpected a part of the file (#/$defs/name) or a file beside it`;
}

function referencesIn(part: unknown): string[] {
  if (Array.isArray(part)) return part.flatMap(referencesIn);
  if (!isMapping(part)) return [];
  return Object.entries(part).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : referencesIn(member),
  );
}

function problemText({ instancePath, keyword, params, message = '', data }: ErrorObject): { place: string; message: string } {
  if (keyword === 'required') return { place: placeOf(instancePath, params.missingProperty), message: 'is missing' };
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties')
    return { place: placeOf(instancePath, params.additionalProperty ?? params.unevaluatedProperty), message: 'is not expected' };
  return {
    place: placeOf(instancePath),
    message: `${expectedText(keyword, params, message)}, found ${excerpt(JSON.stringify(data) ?? 'nothing', 60)}`,
  };
}

function expectedText(keyword: string, params: Record<string, unknown>, message: string): string {
  if (keyword === 'type') return `expected ${[params.type].flat().join(' or ')}`;
  if (keyword === 'enum') return `expected one of ${(params.allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`;
  if (keyword === 'const') return `expected ${JSON.stringify(params.allowedValue)}`;
  if (keyword === 'format') return `expected the format ${params.format}`;
  return message.replace(/^must NOT /, 'expected not to ').replace(/^must /, 'expected to ');
}

/** Turns a JSON pointer (RFC 6901) into a path such as `$.orders[0].id`. `member` is a member of the value there. */
function placeOf(pointer: string, member?: string): string {
  const names = pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const steps = [...names.map((name) => (/^\d+$/.test(name) ? Number(name) : name)), ...(member === undefined ? [] : [member])];
  const path = steps.reduce<string>(pathTo, '');
  return path === '' || path.startsWith('[') ? `$${path}` : `$.${path}`;
}

/** Numbers become doubles, which is enough to check them. */
function plainValue(value: Value): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plainValue);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainValue(member)])) : value;
}

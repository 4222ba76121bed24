import type { ToolProblem } from '../../core/action.ts';
import { excerpt } from '../../core/answer/response.ts';
import { noClock } from '../../core/condition/evaluation.ts';
import { Failure } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { bodyTemplate } from '../../core/template/body.ts';
import { templateParts } from '../../core/template/template.ts';
import { didYouMean, listedNames } from '../../core/text/suggest.ts';
import type { Tool, ToolSchema } from '../../core/tools.ts';
import { parseJson } from '../../core/value/json.ts';
import { ExactNumber, isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';

interface CheckedCall {
  readonly tool: string;
  readonly connection: string;
  readonly arguments: ArgumentsTemplate;
}

/** Finds mistakes that affect every record. `textCells` is true if the records are known to be rows of a table. */
export function toolProblems(call: CheckedCall, tools: readonly Tool[], textCells: boolean): ToolProblem[] {
  const tool = tools.find(({ name }) => name === call.tool);
  return tool ? argumentProblems(call, tool.inputSchema, textCells) : [{ at: ['tool'], message: noTool(call, tools) }];
}

function noTool({ tool, connection }: CheckedCall, tools: readonly Tool[]): string {
  const names = tools.map(({ name }) => excerpt(name, 100));
  const choices = names.length === 0 ? '; it has none' : `; it has ${listedNames(names)}`;
  return `the server of "${connection}" has no tool "${tool}"${didYouMean(tool, names) || choices}`;
}

function argumentProblems({ tool, connection, arguments: written }: CheckedCall, schema: ToolSchema, textCells: boolean): ToolProblem[] {
  const known = Object.keys(schema.properties ?? {});
  const unknown = takesOthers(schema, known) ? [] : written.names.filter((name) => !known.includes(name));
  const missing = written.hasOtherNames ? [] : (schema.required ?? []).filter((name) => !written.names.includes(name));
  const meant = new Set(unknown.map((name) => didYouMean(name, missing)));
  const wayOut = `\nsee what it takes: automate connections tools ${connection} ${tool}`;
  return [
    ...valueProblems(tool, written, schema, textCells),
    ...unknown.map((name) => {
      const left = known.filter((one) => !written.names.includes(one));
      const choices =
        didYouMean(name, missing) ||
        didYouMean(name, left) ||
        (known.length === 0 ? '; it takes none' : `; it takes ${listedNames(known)}`);
      return { at: ['arguments', name], isName: true, message: `the tool "${tool}" has no argument "${name}"${choices}` };
    }),
    ...missing
      .filter((name) => !meant.has(`; did you mean "${name}"?`))
      .map((name) => ({ at: ['arguments'], message: `the argument "${excerpt(name, 100)}" of the tool "${tool}" is missing${wayOut}` })),
  ];
}

const textHint = '\nwrite the arguments as JSON text, with {{field}} outside quotes, or convert it in a set node';

function valueProblems(
  tool: string,
  { literals, texts, cells }: ArgumentsTemplate,
  { properties = {} }: ToolSchema,
  textCells: boolean,
): ToolProblem[] {
  const problemAt = (name: string, found: string) => {
    const message = `the argument "${name}" of the tool "${tool}" takes ${expectedKind(properties[name] as ToolSchema)}, ${found}`;
    return { at: ['arguments', name], message };
  };
  const isKnown = (name: string) => Object.hasOwn(properties, name);
  const wrong = [...literals].filter(([name, value]) => isKnown(name) && !takes(properties[name] as ToolSchema, value));
  const never = [...texts, ...(textCells ? cells : [])].filter((name) => isKnown(name) && !takesText(properties[name] as ToolSchema));
  return [
    ...wrong.map(([name, value]) => problemAt(name, `found ${excerpt(jsonOf(value), 60)}`)),
    ...never.map((name) => problemAt(name, `and this is always a string${textHint}`)),
  ];
}

/** True unless a simple schema rejects the value. Checks of complex schemas are left to the server. */
function takes({ type, enum: some, const: only }: ToolSchema, value: Value): boolean {
  if (value === null) return true;
  const choices = only === undefined ? some : [only];
  if (choices) return choices.some((choice) => jsonOf(choice as Value) === jsonOf(value));
  return type === undefined || [type].flat().some((kind) => isOf(kind, value));
}

function isOf(kind: string, value: Value): boolean {
  if (kind === 'integer') return !(typeof value === 'number') ? value instanceof ExactNumber : Number.isInteger(value);
  if (kind === 'number') return typeof value === 'number' || value instanceof ExactNumber;
  if (kind === 'array') return Array.isArray(value);
  return kind === 'object' ? isObject(value) : kind === typeof value || !['string', 'boolean'].includes(kind);
}

function takesText({ type, enum: some }: ToolSchema): boolean {
  if (some) return some.some((choice) => typeof choice === 'string');
  return type === undefined || [type].flat().includes('string');
}

function expectedKind({ type, enum: some, const: only }: ToolSchema): string {
  const choices = only === undefined ? some : [only];
  if (choices) return excerpt(choices.map((choice) => JSON.stringify(choice)).join(', '), 200);
  return [type ?? 'any']
    .flat()
    .map((kind) => kinds[kind] ?? kind)
    .join(' or ');
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
};

/** True if the tool might accept arguments that its schema does not list. A schema that lists no arguments accepts all. */
function takesOthers({ additionalProperties, patternProperties }: ToolSchema, known: readonly string[]): boolean {
  if (additionalProperties === false) return false;
  return additionalProperties !== undefined || patternProperties !== undefined || known.length === 0;
}

export interface ArgumentsTemplate {
  readonly names: readonly string[];
  /** True if a record determines the name of some argument. */
  readonly hasOtherNames: boolean;
  /** The arguments whose values do not depend on the record; empty if the arguments are written as JSON text. */
  readonly literals: ReadonlyMap<string, Value>;
  /** The names of arguments that are strings for every record; empty if the arguments are written as JSON text. */
  readonly texts: readonly string[];
  /** The names of arguments that consist of a single field of a table. They are always strings if the records are rows of a table. */
  readonly cells: readonly string[];
  render(fields: Fields): JsonObject;
}

/** Compiles arguments in the same way as the body of a request. Throws an Error with the reason if the arguments are invalid. */
export function argumentsTemplate(written: Value, isCell: (field: string) => boolean): ArgumentsTemplate {
  const render = bodyTemplate(written, isCell, undefined, 'arguments');
  const names = Object.keys(typeof written === 'string' ? sampleOf(written) : (written as JsonObject));
  const literal = names.filter((name) => !hasReference(name));
  const members = typeof written === 'string' ? [] : Object.entries(written as JsonObject).filter(([name]) => !hasReference(name));
  return {
    names: literal,
    hasOtherNames: literal.length < names.length,
    literals: new Map(members.filter(([, value]) => !hasReference(jsonOf(value)))),
    texts: members.filter(([, value]) => isMixedText(value)).map(([name]) => name),
    cells: members.filter(([, value]) => isCellAlone(value, isCell)).map(([name]) => name),
    render: (fields) => asObject(render(fields, noClock)),
  };
}

function isMixedText(value: Value): boolean {
  return typeof value === 'string' && hasReference(value) && templateParts(value).length > 1;
}

function isCellAlone(value: Value, isCell: (field: string) => boolean): boolean {
  const [only, ...more] = typeof value === 'string' ? templateParts(value) : [];
  return typeof only === 'object' && more.length === 0 && isCell(only.field);
}

function hasReference(text: string): boolean {
  return templateParts(text).some((part) => typeof part !== 'string');
}

/** Parses the JSON text of arguments, with a number in place of each reference, to find their names. */
function sampleOf(text: string): JsonObject {
  const sample = templateParts(text).map((part) => (typeof part === 'string' ? part : '0'));
  return asObject(parseJson(sample.join('')));
}

function asObject(value: Value | string): JsonObject {
  const object = typeof value === 'string' ? parseJson(value) : value;
  if (isObject(object)) return object;
  throw new Failure('request', 'expected the arguments to be a mapping of names to values', { sent: false });
}

import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { Failure } from '../core/failure.ts';
import { listedNames } from '../core/text/suggest.ts';
import type { Tool, ToolSchema } from '../core/tools.ts';
import { isNestedTooDeep } from '../core/value/json.ts';
import { asDouble, ExactNumber, isMapping, isObject, type JsonObject, type Value } from '../core/value/value.ts';

type ToolCheck = (value: unknown) => { readonly valid: boolean; readonly errorMessage?: string };

/** Checks the arguments of a call before they are sent, because a call that is rejected here costs nothing. */
export class ToolList {
  readonly #connection: string;
  readonly #validator = new AjvJsonSchemaValidator();
  /** Compiled checks of arguments, keyed by the name of the tool. A check is compiled when its tool is first called. */
  readonly #checks = new Map<string, ToolCheck>();
  #tools: readonly Tool[] = [];

  constructor(connection: string) {
    this.#connection = connection;
  }

  /** Replaces the list of tools and discards the compiled checks. */
  replace(tools: readonly Tool[]): void {
    this.#checks.clear();
    this.#tools = tools;
  }

  /** Returns the tools, with the malformed parts of their schemas removed. */
  tidied(): Tool[] {
    return this.#tools.map(tidiedTool);
  }

  /** Leaves out nulls that the tool rejects. Throws a Failure (`request`) for an unknown tool, invalid arguments or a loss of digits. */
  checkArguments(name: string, values: JsonObject): Record<string, unknown> {
    const tool = this.#tool(name);
    const check = this.#checks.get(name) ?? this.#compile(tool);
    const all = plainArguments(values);
    const { valid, errorMessage = '' } = check(all);
    if (valid) return all;
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
    if (check(given).valid) return given;
    const problem = withChoices(withoutDataPath(errorMessage), tool);
    throw requestFailure(`the tool "${name}" does not take these arguments: ${problem}${hintFor(errorMessage)}`);
  }

  #tool(name: string): Tool {
    const found = this.#tools.find((tool) => tool.name === name);
    if (found) return found;
    const names = listedNames(this.#tools.map((tool) => tool.name)) || 'none';
    throw requestFailure(`the server of "${this.#connection}" has no tool "${name}"; it has ${names}`);
  }

  #compile({ name, inputSchema }: Tool): ToolCheck {
    let check: ToolCheck = () => ({ valid: true });
    try {
      check = this.#validator.getValidator(inputSchema as never);
    } catch {
      // The tool's schema is invalid, so the arguments are left to the server to check.
    }
    this.#checks.set(name, check);
    return check;
  }
}

function requestFailure(message: string): Failure {
  return new Failure('request', message, { sent: false });
}

function plainArguments(values: JsonObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plainValue(value)]));
}

function plainValue(value: Value): unknown {
  if (value instanceof ExactNumber) return toDouble(value);
  if (Array.isArray(value)) return value.map(plainValue);
  return isObject(value) ? plainArguments(value) : value;
}

function toDouble(value: ExactNumber): number {
  const number = asDouble(value);
  if (number !== undefined) return number;
  throw requestFailure(
    `the number ${value.text.slice(0, 60)} would lose digits on its way to the tool\nsend it as a string, if the tool accepts one`,
  );
}

/** Removes the SDK's name for the arguments from a validation message, so `data/a must be number` becomes `a must be number`. */
function withoutDataPath(message: string): string {
  return message.replace(/\bdata\/?/g, '').replace(/^\s+|(?<=, )\s+/g, '');
}

function withChoices(message: string, tool: Tool): string {
  const { properties = {} } = tidiedTool(tool).inputSchema;
  return message.replace(/(\S+) must be equal to one of the allowed values/, (whole, name: string) => {
    const allowed = Object.hasOwn(properties, name) ? properties[name]?.enum : undefined;
    return allowed ? `${name} must be one of ${allowed.map((value) => JSON.stringify(value)).join(', ')}` : whole;
  });
}

function hintFor(message: string): string {
  if (!/must be (?:number|integer|boolean)/.test(message)) return '';
  return '\na CSV cell is text; write the arguments as JSON text with {{field}} outside quotes, or convert it in a set node: fields: { field: { cel: double(field) } }';
}

/** Maximum depth of a tool's JSON Schema. Deeper parts are dropped, because no check reads them. */
const maxDepth = 50;

/** Returns a tool whose JSON Schema is safe to read. A keyword is dropped if its value is not allowed in JSON Schema. */
function tidiedTool(tool: Tool): Tool {
  const members = mappedMembers(tool, (value) => shallow(value, 0)) as unknown as Tool;
  return { ...members, inputSchema: tidied(tool.inputSchema, 0) };
}

/** Returns the value of a keyword in a form that is safe to read, or undefined to drop the keyword. */
type Tidy = (value: unknown, depth: number) => unknown;

const tidied = (found: unknown, depth: number): ToolSchema =>
  isMapping(found) && depth <= maxDepth ? mappedMembers(found, (value, name) => tidyOf(name)(value, depth + 1)) : {};

const shallow: Tidy = (value, depth) => (isNestedTooDeep(value, maxDepth - depth) ? undefined : value);
const text: Tidy = (value) => (typeof value === 'string' ? value : undefined);
const list: Tidy = (value, depth) => (Array.isArray(value) ? shallow(value, depth) : undefined);
const texts: Tidy = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined);
const schemas: Tidy = (value, depth) => (Array.isArray(value) ? value.map((one) => tidied(one, depth)) : undefined);

const tidies: Readonly<Record<string, Tidy>> = {
  type: (value, depth) => text(value, depth) ?? texts(value, depth),
  title: text,
  description: text,
  properties: (value, depth) => (isMapping(value) ? mappedMembers(value, (schema) => tidied(schema, depth)) : undefined),
  required: texts,
  items: tidied,
  enum: list,
  anyOf: schemas,
  oneOf: schemas,
};

function tidyOf(keyword: string): Tidy {
  return (Object.hasOwn(tidies, keyword) ? tidies[keyword] : undefined) ?? shallow;
}

function mappedMembers(mapping: object, of: (value: unknown, name: string) => unknown): Record<string, never> {
  const members = Object.entries(mapping).map(([name, value]) => [name, of(value, name)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as Record<string, never>;
}

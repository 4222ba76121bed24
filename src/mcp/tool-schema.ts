import type { Tool, ToolSchema } from '../core/tools.ts';
import { isNestedTooDeep } from '../core/value/json.ts';
import { isMapping } from '../core/value/value.ts';

/** Maximum depth of a tool's JSON Schema. Deeper parts are dropped, because no check reads them. */
const maxDepth = 50;

/** Returns a tool whose JSON Schema is safe to read. A keyword is dropped if its value is not allowed in JSON Schema. */
export function tidiedTool(tool: Tool): Tool {
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

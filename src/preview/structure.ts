import { pathTo } from '../core/answer/path.ts';
import { excerpt } from '../core/answer/response.ts';
import { counted } from '../core/text/number.ts';
import { escapedControls } from '../core/text/shell-word.ts';
import { isObject, jsonOf, type Value } from '../core/value/value.ts';

/** A path to a value in a response, in the syntax of a node's `map`. */
export interface StructureRow {
  readonly path: string;
  readonly type: string;
  readonly sample: string;
}

/** Maximum number of elements that are examined in each array. */
const maxElements = 100;

/** Returns every path in a response, with the types of its values and a sample value. The elements of an array share one path. */
export function structureOf(body: Value | undefined): StructureRow[] {
  const found = new Map<string, { types: Set<string>; sample: Value }>();
  if (body !== undefined) visit('', body);
  return [...found].map(([path, { types, sample }]) => ({ path, type: [...types].join(' or '), sample: sampleText(sample) }));

  function visit(path: string, value: Value): void {
    if (path !== '' || !isContainer(value) || Object.keys(value as object).length === 0) note(path === '' ? '$body' : path, value);
    if (isObject(value)) for (const name of Object.keys(value)) visit(printablePath(path, name), value[name] as Value);
    if (Array.isArray(value)) for (const element of value.slice(0, maxElements)) visitElement(path, element);
  }

  function visitElement(path: string, element: Value): void {
    if (isContainer(element)) visit(`${path}[]`, element);
    else note(`${path}[]`, element);
  }

  function note(path: string, value: Value): void {
    const row = found.get(path);
    if (!row) found.set(path, { types: new Set([valueType(value)]), sample: value });
    else {
      row.types.add(valueType(value));
      if (row.sample === null) row.sample = value;
    }
  }
}

/** Appends a member name to a path. Control characters are escaped, so that the path can be copied from a terminal. */
function printablePath(path: string, name: string): string {
  return escapedControls(name) === name ? pathTo(path, name) : `${path}[${escapedControls(JSON.stringify(name))}]`;
}

function isContainer(value: Value): boolean {
  return Array.isArray(value) || isObject(value);
}

function valueType(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'object' ? 'number' : typeof value;
}

function sampleText(value: Value): string {
  if (Array.isArray(value)) return counted(value.length, 'element');
  if (isObject(value)) return counted(Object.keys(value).length, 'member');
  return excerpt(jsonOf(value), 60);
}

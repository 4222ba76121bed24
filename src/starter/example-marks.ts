import { type Document, isScalar } from 'yaml';
import { isMapping } from '../core/value/value.ts';

/** The names and indexes that lead to a value in a node. */
export type ValuePath = readonly (string | number)[];

/** Returns those paths at which the node would send an example from the API's documentation unchanged, without a field or a credential. */
export function sentExamples(node: object, paths: readonly ValuePath[]): ValuePath[] {
  return paths.filter((path) => isSent(node, path));
}

function isSent(value: unknown, [step, ...rest]: ValuePath): boolean {
  // If the body is a single string, it contains all the values.
  if (typeof value === 'string') return step !== undefined || !value.includes('{{');
  if (step === undefined) return typeof value !== 'object' || value === null;
  if (Array.isArray(value)) return isSent(value[Number(step)], rest);
  return isMapping(value) && Object.hasOwn(value, step) && isSent(value[step], rest);
}

/** Adds a YAML comment to each example in a node of the flow. */
export function markExamples(document: Document, node: number, paths: readonly ValuePath[]): void {
  for (const path of paths) {
    const found = document.getIn(['nodes', node, ...path], true);
    if (isScalar(found)) found.comment = ' an example: put {{field}} here';
  }
}

const maxNamed = 12;

/** Empty if there are no examples. */
export function exampleNotes(paths: readonly ValuePath[]): string[] {
  if (paths.length === 0) return [];
  const names = paths.slice(0, maxNamed).map(pathText);
  const more = paths.length > maxNamed ? [`and ${paths.length - maxNamed} more`] : [];
  return [`examples, which every request would send: ${[...names, ...more].join(', ')}; replace each with {{field}}`];
}

function pathText(path: ValuePath): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

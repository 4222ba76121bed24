import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Range,
  type Scalar,
  visit,
} from 'yaml';
import type { CodedMessage } from '../core/error-code.ts';
import type { Problem } from '../core/failure.ts';
import { objectOf } from '../core/value/dictionary.ts';
import { ExactNumber } from '../core/value/value.ts';
import { offsetWithin } from './problems/scalar-offset.ts';
import { depthProblem, type YamlProblem, yamlProblems } from './problems/yaml-problems.ts';
import { credentialNames } from './secrets/credential-names.ts';
import { createMask } from './secrets/mask.ts';
import { secretAdvice } from './secrets/secret-advice.ts';
import { isData, literalSecrets } from './secrets/secrets.ts';
import { type FilledDocument, fillVariables } from './variables/fill-variables.ts';
import { type FlowVariables, type VariableChoice, variablesOf } from './variables/variables.ts';

/** A place in a flow: names and indices from the top. */
export type At = readonly (string | number)[];

/** A flow file as it was read: its values and their places. */
export interface Source {
  /** The whole file as plain values. `undefined` if the YAML is broken. */
  readonly value: unknown;
  /** The problems of the YAML itself, and literal secrets. */
  readonly problems: readonly Problem[];
  /** Warnings for variables that are never used. */
  readonly warnings: readonly Problem[];
  /** The variables of the flow. Undefined for a text without a meaning, and for a connection. */
  readonly variables: SourceVariables | undefined;
  /** Makes a problem at a value, or at its nearest parent. `within`: the text inside the value, or an offset in it. */
  at(place: At, message: string | CodedMessage, within?: string | number): Problem;
  /** Makes a problem at a name. */
  atName(place: At, message: string): Problem;
  /** Lets later look-ups find the value of a misspelt name under the correct one. */
  rename(place: At, correct: string): void;
}

/** The variables of a flow as the text has them, and those that it uses. */
export interface SourceVariables extends Pick<FlowVariables, 'open' | 'standIns' | 'range'>, Pick<FilledDocument, 'used'> {}

/**
 * Reads a flow's YAML: 1.2 core schema, one document, no duplicate keys, no custom tags, no alias bombs. `choice`: the values of its variables,
 * which are written in their places; undefined for a text without variables.
 */
export function readSource(text: string, choice?: VariableChoice): Source {
  const counter = new LineCounter();
  const tooDeep = depthProblem(text);
  const document = parseDocument(tooDeep ? '' : text, {
    version: '1.2',
    schema: 'core',
    lineCounter: counter,
    prettyErrors: false,
    stringKeys: true,
    logLevel: 'error',
  });
  if (tooDeep) for (const { index } of text.matchAll(/\n/g)) counter.addNewLine(index + 1);
  const broken: YamlProblem[] = tooDeep ? [tooDeep] : yamlProblems(text, document);
  const hasMeaning = broken.every(({ leavesMeaning }) => leavesMeaning);
  const variables = choice && hasMeaning ? variablesOf(document, choice) : undefined;
  const filled = variables && fillVariables(document, variables, (scalar, within) => offsetWithin(text, scalar, rangeOf(scalar), within));
  const secrets = literalSecrets(document);
  const mask = createMask({ text, document, counter, isBroken: tooDeep !== undefined || document.errors.length > 0 }, secrets);
  const place = (offset: number, reason: string | CodedMessage, width = 1): Problem => {
    const { line, col } = counter.linePos(Math.min(offset, text.trimEnd().length));
    const shown = mask.line(line);
    const { message, code, details }: CodedMessage = typeof reason === 'string' ? { message: reason } : reason;
    const problem = { message: mask.message(message), line, column: col, ...(code && { code, details }) };
    return shown === undefined ? problem : { ...problem, source: { text: shown, caret: col - 1, width: Math.max(1, width) } };
  };
  const issues = (some: FilledDocument['problems'] = []) => some.map(({ offset, width, ...coded }) => place(offset, coded, width));
  const names = credentialNames(secrets);
  // Masked piece by piece: a secret such as "token" would mask words of the message itself.
  const literals = secrets.map((secret) => ({
    ...place(secret.range[0], '', 3),
    message: `${mask.message(secret.found)} holds a literal secret\n${secretAdvice(secret, names, mask.message)}`,
  }));
  return {
    value: hasMeaning ? plainDocument(document) : undefined,
    problems: [...broken.map(({ offset, message, width }) => place(offset, message, width)), ...literals, ...issues(filled?.problems)],
    warnings: issues(filled?.warnings),
    variables: variables && filled && { ...variables, ...filled },
    at(path, message, within) {
      const range = valueRange(document, path);
      const node = nodeAt(document, path);
      // Offsets are in the value with its variables filled in, and the file has their names.
      const before = node && filled?.written.get(node);
      const asWritten = before && { type: (node as Scalar).type, value: before.value };
      const inWritten = before && typeof within === 'number' ? before.writtenAt(within) : within;
      const offset = inWritten === undefined ? range[0] : offsetWithin(text, asWritten ?? (node as Scalar), range, inWritten);
      return place(offset, message, Math.min(range[1], lineEnd(text, offset)) - offset);
    },
    atName(path, message) {
      const [start, end] = nameRange(document, path) ?? valueRange(document, path);
      return place(start, message, end - start);
    },
    rename(path, correct) {
      const key = pairAt(document, path)?.key;
      if (isScalar(key)) key.value = correct;
    },
  };
}

/** The document as plain values. Numbers in data keep their digits, headers stay texts as written. */
function plainDocument(document: Document): unknown {
  visit(document, {
    Scalar(key, scalar, ancestors) {
      if (key === 'key' || typeof scalar.source !== 'string' || scalar.type !== 'PLAIN') return;
      const { value, source } = scalar;
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [node.key.value] : []));
      if (names.includes('headers')) {
        if (typeof value === 'number' || typeof value === 'boolean') scalar.value = source;
      } else if (isData(names) && typeof value === 'number' && String(value) !== source) {
        if (jsonNumber.test(source)) scalar.value = new ExactNumber(source);
      }
    },
  });
  return withObjects(document.toJS({ maxAliasCount: -1, mapAsMap: true }), new Map());
}

/** Turns maps into objects. An alias keeps sharing its value: copies of nested aliases could fill the memory. */
function withObjects(value: unknown, known: Map<object, unknown>): unknown {
  if (!Array.isArray(value) && !(value instanceof Map)) return value;
  const seen = known.get(value);
  if (seen) return seen;
  const plain = Array.isArray(value)
    ? value.map((element) => withObjects(element, known))
    : objectOf([...value].map(([name, member]) => [name, withObjects(member, known)] as const));
  known.set(value, plain);
  return plain;
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The range of the value at a path, or of its nearest existing parent. */
function valueRange(document: Document, path: At): [number, number] {
  for (let length = path.length; length >= 0; length--) {
    const node = nodeAt(document, path.slice(0, length));
    if (node?.range) return [node.range[0], node.range[1]];
    const name = nameRange(document, path.slice(0, length));
    if (name) return name;
  }
  return [0, 1];
}

function rangeOf({ range }: Node): [number, number] {
  return range ? [range[0], range[1]] : [0, 1];
}

function nodeAt(document: Document, path: At): Node | undefined {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) ? node : undefined;
}

function nameRange(document: Document, path: At): [number, number] | undefined {
  const range = (pairAt(document, path)?.key as { range?: Range | null } | undefined)?.range;
  return range ? [range[0], range[1]] : undefined;
}

function pairAt(document: Document, path: At): Pair | undefined {
  if (path.length === 0) return undefined;
  const parent = nodeAt(document, path.slice(0, -1));
  const mapping = isAlias(parent) ? parent.resolve(document) : parent;
  return isMap(mapping) ? mapping.items.find(({ key }) => isScalar(key) && String(key.value) === path.at(-1)) : undefined;
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end;
}

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
import { ExactNumber, jsonNumber, objectOf, type ValuePath } from '../core/value/value.ts';
import { fillColumnNames } from './fill-column-names.ts';
import { type FilledDocument, fillVariables } from './fill-variables.ts';
import { changedNumber, changedNumbers, offsetWithin } from './scalars.ts';
import { createMask } from './secrets/mask.ts';
import { credentialNames, secretAdvice } from './secrets/secret-advice.ts';
import { isData, literalSecrets } from './secrets/secrets.ts';
import { type FlowVariables, type VariableChoice, variablesOf } from './variables.ts';
import { depthProblem, type YamlProblem, yamlProblems } from './yaml-problems.ts';

export interface FlowSource {
  /** Plain values; `undefined` if the YAML is invalid. */
  readonly value: unknown;
  /** The same as `value`, but with the names of variables instead of their values. */
  readonly written: unknown;
  /** Problems of the YAML itself, and of each literal secret. */
  readonly problems: readonly Problem[];
  /** Warnings for variables that are never used. */
  readonly warnings: readonly Problem[];
  /** Undefined for a connection, and for YAML whose meaning is unclear. */
  readonly variables: SourceVariables | undefined;
  /** Creates a problem at this path or its nearest existing parent. `within`: the wrong part of the value, or the offset of that part. */
  at(place: ValuePath, message: string | CodedMessage, within?: string | number): Problem;
  /** Creates a problem at the name of the member with this path. */
  atName(place: ValuePath, message: string): Problem;
  /** The message for a number that YAML reads as a different text, such as `01234`. */
  changedNumber(place: ValuePath): string | undefined;
  /** After this, the path with the correct name leads to the misspelt member's value. */
  rename(place: ValuePath, correct: string): void;
}

/** A flow's variables as written, and those that the flow uses. */
interface SourceVariables extends Pick<FlowVariables, 'open' | 'standIns' | 'range' | 'values'>, Pick<FilledDocument, 'used'> {}

const yamlOptions = { version: '1.2', schema: 'core', prettyErrors: false, stringKeys: true, logLevel: 'error' } as const;

/**
 * Accepts YAML 1.2 (core schema) with one document and without duplicate keys, custom tags or alias bombs. `choice` sets the variables'
 * values and is undefined for a file without variables. The data of a `test` file can look like secrets.
 */
export function readSource(text: string, choice?: VariableChoice, kind: 'flow' | 'test' = 'flow'): FlowSource {
  const counter = new LineCounter();
  const tooDeep = depthProblem(text);
  const document = parseDocument(tooDeep ? '' : text, { ...yamlOptions, lineCounter: counter });
  if (tooDeep) for (const { index } of text.matchAll(/\n/g)) counter.addNewLine(index + 1);
  const broken: YamlProblem[] = tooDeep ? [tooDeep] : yamlProblems(text, document);
  const hasMeaning = broken.every(({ leavesMeaning }) => leavesMeaning);
  const variables = choice && hasMeaning ? variablesOf(document, choice) : undefined;
  const filled = variables && fillDocument(text, document, variables);
  const secrets = kind === 'test' ? [] : literalSecrets(document);
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
  // Masks only those parts of a message that come from the flow. If the whole message were masked, a secret such as "token" would hide
  // words of the message itself.
  const literals = secrets.map((secret) => ({
    ...place(secret.range[0], '', 3),
    message: `${mask.message(secret.found)} contains a literal secret\n${secretAdvice(secret, names, mask.message)}`,
  }));
  const places = kind === 'test' ? testPlaces : flowPlaces;
  const values = hasMeaning ? plainValues(document, filled, places) : { value: undefined, written: undefined };
  const numbers = hasMeaning ? changedNumbers(document, secrets, kind) : [];
  return {
    ...values,
    problems: [
      ...broken.map(({ offset, message, width }) => place(offset, message, width)),
      ...literals,
      ...issues(filled?.problems),
      ...issues(numbers),
    ],
    warnings: issues(filled?.warnings),
    variables: variables && filled && { ...variables, ...filled },
    at(path, message, within) {
      const range = valueRange(document, path);
      const node = nodeAt(document, path);
      // Offsets refer to the value after variables were replaced, but the file still contains the names of the variables.
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
    changedNumber: (path) => changedNumber(document.getIn(path, true)),
    rename(path, correct) {
      const key = pairAt(document, path)?.key;
      if (isScalar(key)) key.value = correct;
    },
  };
}

function fillDocument(text: string, document: Document, variables: FlowVariables): FilledDocument {
  const named = fillColumnNames(document);
  const filled = fillVariables(document, variables, (scalar, within) => offsetWithin(text, scalar, rangeOf(scalar), within));
  // In a text that has both, the names of columns were replaced first.
  const written = new Map([...named, ...filled.written]);
  for (const [node, { value, writtenAt }] of named) {
    const later = filled.written.get(node);
    if (later) written.set(node, { value, writtenAt: (offset) => writtenAt(later.writtenAt(offset)) });
  }
  return { ...filled, written };
}

/** Decides which values are data or headers, and so stay as they are written. `names` are the keys from the top to the value. */
interface DataPlaces {
  /** A header's value stays a string even if it looks like a number. */
  isHeader(names: readonly unknown[]): boolean;
  /** In data, such as a body, numbers keep all their digits. */
  isData(names: readonly unknown[]): boolean;
}

const flowPlaces: DataPlaces = { isHeader: (names) => names.includes('headers'), isData };

/** Headers occur in an answer, and under `sent`, where they are the expected headers of a request. */
const testPlaces: DataPlaces = {
  isHeader: ([, , third, fourth]) => third === 'headers' || (third === 'sent' && fourth === 'headers'),
  isData: () => true,
};

/** Converts the document twice: with the values of variables and with their names. */
function plainValues(document: Document, filled: FilledDocument | undefined, places: DataPlaces): Pick<FlowSource, 'value' | 'written'> {
  const value = plainDocument(document, places);
  return { value, written: filled && filled.written.size > 0 ? writtenDocument(document, filled, places) : value };
}

function plainDocument(document: Document, places: DataPlaces): unknown {
  visit(document, {
    Scalar(key, scalar, ancestors) {
      if (key === 'key' || typeof scalar.source !== 'string' || scalar.type !== 'PLAIN') return;
      const { value, source } = scalar;
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [node.key.value] : []));
      if (places.isHeader(names)) {
        if (typeof value === 'number' || typeof value === 'boolean') scalar.value = source;
      } else if (places.isData(names) && typeof value === 'number' && String(value) !== source) {
        if (jsonNumber.test(source)) scalar.value = new ExactNumber(source);
      }
    },
  });
  return withObjects(document.toJS({ maxAliasCount: -1, mapAsMap: true }), new Map());
}

/** Contains the names of variables instead of their values. */
function writtenDocument(document: Document, { written }: FilledDocument, places: DataPlaces): unknown {
  const scalars = [...written].map(([node, { value }]) => ({ scalar: node as Scalar, value, filled: (node as Scalar).value }));
  for (const { scalar, value } of scalars) scalar.value = value;
  const plain = plainDocument(document, places);
  for (const { scalar, filled } of scalars) scalar.value = filled;
  return plain;
}

/** Converts maps to objects. All aliases of a value become the same object, because copies could exhaust the memory. */
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

/** Start and end of the value, or of the nearest parent that exists. */
function valueRange(document: Document, path: ValuePath): [number, number] {
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

function nodeAt(document: Document, path: ValuePath): Node | undefined {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) ? node : undefined;
}

function nameRange(document: Document, path: ValuePath): [number, number] | undefined {
  const range = (pairAt(document, path)?.key as { range?: Range | null } | undefined)?.range;
  return range ? [range[0], range[1]] : undefined;
}

function pairAt(document: Document, path: ValuePath): Pair | undefined {
  if (path.length === 0) return undefined;
  const parent = nodeAt(document, path.slice(0, -1));
  const mapping = isAlias(parent) ? parent.resolve(document) : parent;
  return isMap(mapping) ? mapping.items.find(({ key }) => isScalar(key) && String(key.value) === path.at(-1)) : undefined;
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end;
}

import { Document, isMap, isSeq, parseDocument, Scalar } from 'yaml';
import { ExactNumber, isMapping } from '../core/value/value.ts';
import { expectedLiteral } from './test-file.ts';
import type { ExpectedFailure, TestAnswer } from './test-schema.ts';

/** A test in the form in which it is written to a file. */
export interface WrittenTest {
  readonly name: string;
  readonly env?: string;
  readonly options?: object;
  readonly record: object;
  readonly answers: readonly TestAnswer[];
  readonly rows?: readonly object[];
  readonly fails?: ExpectedFailure;
}

/** Options of the YAML writer that keep long strings on one line. */
const style = { lineWidth: 0 };

/**
 * Returns the text of a test file with one more test. `text` is the current text, which is kept as it is; undefined for a new file. `flow`
 * is the path of the flow, relative to the test file.
 */
export function withTest(text: string | undefined, flow: string, test: WrittenTest): string {
  const item = writable(ordered(test));
  if (text === undefined) return new Document({ flow, tests: [item] }).toString(style);
  const document = parseDocument(text, { version: '1.2', schema: 'core' });
  const tests = isMap(document.contents) ? document.contents.get('tests', true) : undefined;
  if (!isSeq(tests) || !tests.range) return text;
  if (!tests.flow) return withItem(text, tests.range, new Document([item]).toString(style));
  // A test inside a list in brackets would be hard to read, so the list is rewritten with one item per line.
  tests.flow = false;
  tests.add(document.createNode(item));
  return document.toString(style);
}

/** Appends an item to a YAML list that has one item per line. `range` is the position of the list in the text. */
function withItem(text: string, [start, end]: readonly [number, number, number], item: string): string {
  const indent = ' '.repeat(start - text.lastIndexOf('\n', start - 1) - 1);
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = item
    .trimEnd()
    .replace(/^(?=.)/gm, indent)
    .replaceAll('\n', lineBreak);
  const before = text.slice(0, end);
  return `${before}${before.endsWith('\n') ? '' : lineBreak}${lines}${lineBreak}${text.slice(end)}`;
}

function ordered({ name, env, options, record, answers, rows, fails }: WrittenTest): object {
  return {
    name,
    ...(env !== undefined && { env }),
    ...(options !== undefined && { options }),
    record,
    ...(answers.length > 0 && { answers: answers.map(writtenAnswer) }),
    ...(rows && { rows: expectedLiteral(rows) }),
    ...(fails && { fails: expectedLiteral(fails) }),
  };
}

/**
 * Returns an answer in the form in which it is written to a file. Of its values, only the arguments of a tool call are compared with the
 * request.
 */
function writtenAnswer(answer: TestAnswer): object {
  const given = Object.entries(answer).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, name === 'arguments' ? expectedLiteral(value) : value]));
}

/** Returns a value in a form in which YAML can write whole numbers of any length. */
function writable(value: unknown): unknown {
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text);
  if (Array.isArray(value)) return value.map(writable);
  if (!isMapping(value)) return value;
  return new Map(Object.entries(value).map(([name, member]) => [name === '<<' ? quoted(name) : name, writable(member)]));
}

/** Returns a name that is written in quotes, because it has a special meaning without them. */
function quoted(name: string): Scalar {
  const scalar = new Scalar(name);
  scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}

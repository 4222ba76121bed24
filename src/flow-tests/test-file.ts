import { RE2JS } from 're2js';
import { compileWith, patternAdvice } from '../core/condition/pattern.ts';
import { FlowError, type Problem } from '../core/failure.ts';
import { ExactNumber, isMapping, membersOf, objectOf, type ValuePath } from '../core/value/value.ts';
import { checkedBy } from '../flow/issues.ts';
import { inOrder } from '../flow/plan.ts';
import { readSource } from '../flow/source.ts';
import { type FlowTest, testFileSchema } from './test-schema.ts';

export interface TestFile {
  readonly file: string;
  readonly flow: string;
  readonly tests: readonly FlowTest[];
  at(place: ValuePath, message: string): Problem;
  atName(place: ValuePath, message: string): Problem;
}

/** Throws a FlowError that lists all problems. If the file is a flow, the message names `beside`, the flow's test file in the folder. */
export function readTestFile(text: string, file: string, beside?: string): TestFile {
  const source = readSource(text, undefined, 'test');
  if (isFlowText(source.value)) {
    const details = { flow: file, tests: beside };
    throw new FlowError(file, [source.at([], { message: 'expected a file of tests, found a flow', code: 'flow-for-tests', details })]);
  }
  const problems = [...source.problems];
  if (source.value === null) problems.push(source.at([], 'expected a flow and its tests, found an empty file'));
  const isReadable = source.value !== undefined && source.value !== null;
  const checked = isReadable ? checkedBy(testFileSchema, source.value, { source, at: [], problems }) : undefined;
  const patterns = checked ? patternProblems(checked.tests) : [];
  problems.push(...patterns.map(({ at, message }) => source.at(at, message)));
  if (problems.length > 0 || !checked) throw new FlowError(file, inOrder(problems));
  const { flow, tests } = checked;
  return { file, flow, tests, at: (place, message) => source.at(place, message), atName: source.atName };
}

function isFlowText(value: unknown): boolean {
  return isMapping(value) && Object.hasOwn(value, 'nodes') && !Object.hasOwn(value, 'tests');
}

const slashed = /^\/(.+)\/$/s;

/** Such as `/^Ada/`. Compiled by RE2, whose time is linear, so that no text makes a test hang. Throws if RE2 does not support it. */
export function patternOf(expected: unknown): Pick<RegExp, 'test'> | undefined {
  const written = typeof expected === 'string' ? slashed.exec(expected)?.[1] : undefined;
  return written === undefined ? undefined : compileWith(RE2JS, written);
}

/** A string between slashes would be a regular expression, so it becomes one that matches only this string. */
export function expectedLiteral(value: unknown): unknown {
  if (typeof value === 'string') return slashed.test(value) ? `/^${value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$/` : value;
  if (Array.isArray(value)) return value.map(expectedLiteral);
  if (!isMapping(value) || value instanceof ExactNumber) return value;
  return objectOf(membersOf(value).map(([name, member]) => [name, expectedLiteral(member)] as const));
}

/** Strings in these parts can be regular expressions. */
const expectedParts = ['rows', 'rows_exactly', 'fails'] as const;

function patternProblems(tests: readonly FlowTest[]) {
  return tests.flatMap((test, index) => {
    const at: ValuePath = ['tests', index];
    const parts = expectedParts.flatMap((part) => wrongPatterns(test[part], [...at, part]));
    const sent = test.answers.flatMap(({ sent, arguments: given }, answer) => [
      ...wrongPatterns(sent, [...at, 'answers', answer, 'sent']),
      ...wrongPatterns(given, [...at, 'answers', answer, 'arguments']),
    ]);
    return [...parts, ...sent];
  });
}

function wrongPatterns(value: unknown, at: ValuePath): { readonly at: ValuePath; readonly message: string }[] {
  if (Array.isArray(value)) return value.flatMap((member, index) => wrongPatterns(member, [...at, index]));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) => wrongPatterns(member, [...at, name]));
  try {
    patternOf(value);
    return [];
  } catch (error) {
    return [{ at, message: `between the slashes: ${(error as Error).message}\n${patternAdvice}` }];
  }
}

import type { ColumnNames } from '../core/column-names.ts';
import { durationText } from '../core/duration.ts';
import type { FlowError, Problem } from '../core/failure.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { counted } from '../core/text/number.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { membersOf, objectOf } from '../core/value/value.ts';
import { compareRow, compareWhole, GivenAnswers, shownValue } from './given-answers.ts';
import type { TestFile } from './test-file.ts';
import { isUnanswered } from './test-http.ts';
import { type FailedRecord, fieldsOfRecord, runTest, type TestOutcome } from './test-run.ts';
import type { ExpectedFailure, FlowTest } from './test-schema.ts';

export interface TestResult {
  readonly name: string;
  /** Empty if the test passed. */
  readonly problems: readonly string[];
  readonly error?: FlowError;
}

export async function checkTest(plan: Plan, test: FlowTest): Promise<TestResult> {
  const { name, record, records = record ? [record] : [], set = {}, options, answers: given } = test;
  const { names } = plan;
  const written = records.map(fieldsOfRecord);
  const twice = written.flatMap((fields) => names.twiceIn(fields) ?? []);
  if (twice.length > 0) return { name, problems: twice };
  const answers = new GivenAnswers(given);
  const outcome = await runTest({
    plan,
    answers,
    records: written.map((fields) => names.fieldsInFlow(fields)),
    set: Object.entries(set),
    allowHttp: options?.allow_http ?? false,
  });
  const unanswered = answers.problems();
  return {
    name,
    problems: [...unanswered, ...failureProblems(test, outcome), ...rowProblems(test, outcome, names), ...waitProblems(test, outcome)],
  };
}

/** Returns a problem for each answer that the test provides for an LLM node or MCP connection that the flow does not have. */
export function answerProblems({ at }: TestFile, test: FlowTest, index: number, { steps, tools }: Plan): Problem[] {
  const known = {
    llm: { kind: 'llm node', names: allSteps(steps).flatMap(({ id, type }) => (type === 'llm' ? [id] : [])) },
    mcp: { kind: 'mcp connection', names: [...new Set(tools.map(({ connection }) => connection.name))] },
  };
  return test.answers.flatMap(({ request }, answer) => {
    const [type = '', asked = ''] = request.split(' ');
    const name = type === 'mcp' ? asked.replace(/\/.*/s, '') : asked;
    const { kind, names } = known[type as keyof typeof known] ?? {};
    if (!names || names.includes(name)) return [];
    const choices = names.length === 0 ? '; it has none' : `; it has ${names.join(', ')}`;
    const message = `the flow has no ${kind} "${name}"${didYouMean(name, names) || choices}`;
    return [at(['tests', index, 'answers', answer, 'request'], message)];
  });
}

function failureProblems({ fails, records }: FlowTest, { failures, rows, stopped }: TestOutcome): string[] {
  const expected = fails === undefined ? [] : [fails].flat();
  // A record that ended the run because of `on_error: stop` is reported with the failures.
  const ended = stopped && stopped.ending !== 'on-error-stop' ? [`the run ended early: ${stopped.reason}`] : [];
  const around = { rows, isOne: records === undefined, failures: failures.length };
  const wrong = expected.flatMap((failure, index) => differencesOf(failure, failures[index], around));
  const more = failures.slice(expected.length).filter(({ failure }) => !isUnanswered(failure));
  return [...ended, ...wrong, ...more.map((failed) => `expected no failure, found ${failedText(failed, records === undefined)}`)];
}

interface TestSurroundings {
  readonly rows: readonly Fields[];
  /** True if the test has only one record. Messages then do not name the record. */
  readonly isOne: boolean;
  readonly failures: number;
}

function differencesOf(expected: ExpectedFailure, failed: FailedRecord | undefined, { rows, isOne, failures }: TestSurroundings): string[] {
  if (!failed) {
    const found = failures === 0 ? 'none' : `only ${counted(failures, 'failure')}`;
    return [`expected a failure (${expectedText(expected)}), found ${isOne ? rowsText(rows) : found}`];
  }
  const { node, kind, status, message } = failed.failure;
  const found = { node, class: kind, status, message };
  const names = Object.keys(expected) as (keyof ExpectedFailure)[];
  const wrong = names.flatMap((name) => (expected[name] === undefined ? [] : compareWhole(expected[name], found[name], name)));
  if (wrong.length === 0 || isUnanswered(failed.failure)) return [];
  return [`expected a different failure, found ${failedText(failed, isOne)}`, ...wrong];
}

function expectedText(expected: ExpectedFailure): string {
  const parts = Object.entries(expected).filter(([, value]) => value !== undefined);
  return parts.length === 0 ? 'of any kind' : parts.map(([name, value]) => `${name} ${value}`).join(', ');
}

function failedText({ record, failure }: FailedRecord, isOne: boolean): string {
  const { node, kind, status, message } = failure;
  const facts = [node, kind, ...(status === undefined || kind !== 'http' ? [] : [status])].filter((fact) => fact !== undefined);
  return `${isOne ? 'the record' : `record ${record}`} failed (${facts.join(', ')}): ${message}`;
}

function rowsText(rows: readonly Fields[]): string {
  return rows.length === 0 ? 'no row and no failure' : `${counted(rows.length, 'row')}:\n${shownRows(rows)}`;
}

const maxShown = 5;

function shownRows(rows: readonly Fields[]): string {
  const more = rows.length > maxShown ? [`  and ${rows.length - maxShown} more`] : [];
  return [...rows.slice(0, maxShown).map((row) => `  ${shownValue(Object.fromEntries(row))}`), ...more].join('\n');
}

function rowProblems(
  { rows, rows_exactly: exactly, record }: FlowTest,
  { rows: made, failures }: TestOutcome,
  names: ColumnNames,
): string[] {
  const written = exactly ?? rows;
  const expected = written?.map((row) => withOwnNames(row, names));
  const found = made.map((row) => names.fieldsInFile(row));
  // The only record failed, so it has no row. Its failure is reported instead.
  if (!expected || (record && failures.length > 0)) return [];
  if (expected.length !== found.length) {
    return [`expected ${counted(expected.length, 'row')}, found ${found.length}${found.length === 0 ? '' : `:\n${shownRows(found)}`}`];
  }
  return expected.flatMap((row, index) =>
    compareRow(row, found[index] as Fields, exactly !== undefined).map((difference) =>
      expected.length === 1 ? `row: ${difference}` : `row ${index + 1}: ${difference}`,
    ),
  );
}

/** The expected rows may have columns under either name. */
function withOwnNames(row: Readonly<Record<string, unknown>>, names: ColumnNames): Readonly<Record<string, unknown>> {
  return names.isEmpty ? row : objectOf(membersOf(row).map(([name, value]) => [names.inFile(name), value] as const));
}

function waitProblems({ waits: expected }: FlowTest, { waits }: TestOutcome): string[] {
  if (!expected || (expected.length === waits.length && expected.every((ms, index) => Math.abs(ms - (waits[index] as number)) < 1)))
    return [];
  return [`waits: expected ${waitsText(expected)}, found ${waitsText(waits)}`];
}

function waitsText(waits: readonly number[]): string {
  return waits.length === 0 ? 'none' : waits.map(durationText).join(', ');
}

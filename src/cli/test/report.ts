import type { FlowError } from '../../core/failure.ts';
import { counted } from '../../core/text/number.ts';
import type { FileResult } from '../../flow-tests/test-files.ts';
import type { ReportedFile, ReportedTest } from '../../http/documents/junit.ts';
import { messageWithAdvice } from '../advice.ts';

/** Returns the results of a test file, with every problem as a string. */
export function reportedFile({ file, tests, error }: FileResult): ReportedFile {
  return {
    file,
    tests: tests.map(({ name, problems, error: own }) => ({ name, problems: own ? problemTexts(own) : problems, isValid: !own })),
    ...(error && { problems: problemTexts(error) }),
  };
}

/** Returns the problems of an error as strings, each with its position. */
function problemTexts({ file, problems }: FlowError): string[] {
  return problems.map((problem) => {
    const place = problem.line === undefined ? file : `${file}:${problem.line}:${problem.column}`;
    return `${place}: ${messageWithAdvice(problem)}`;
  });
}

/** The numbers of tests that passed and failed, and of files that are not valid. */
interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly invalidFiles: number;
}

/** Counts tests and files. A test that is not valid has failed. */
export function countTests(files: readonly ReportedFile[]): TestCounts {
  const tests = files.flatMap((file) => file.tests);
  const passed = tests.filter(hasPassed).length;
  return { passed, failed: tests.length - passed, invalidFiles: files.filter(({ problems }) => problems).length };
}

function hasPassed({ problems }: ReportedTest): boolean {
  return problems.length === 0;
}

/** Returns the last line of the report. */
export function countsText({ passed, failed, invalidFiles }: TestCounts): string {
  const invalid = invalidFiles === 0 ? '' : `, ${counted(invalidFiles, 'file')} not valid`;
  return `${passed} passed, ${failed} failed${invalid}`;
}

/** Returns the report of one test file: a line about the file, and each failed test with its problems. */
export function fileText({ file, tests, problems: ofFile }: ReportedFile): string {
  if (ofFile) return `FAIL  ${file}: not valid`;
  const failed = tests.filter((test) => !hasPassed(test));
  if (failed.length === 0) return `ok    ${file}: ${counted(tests.length, 'test')}`;
  return [
    `FAIL  ${file}: ${failed.length} of ${counted(tests.length, 'test')} failed`,
    ...failed.flatMap(({ name, problems, isValid }) => [
      `  ${nameOnOneLine(name)}`,
      ...problems.map((problem) => listedProblem(problem, isValid)),
    ]),
  ].join('\n');
}

function listedProblem(problem: string, isValid: boolean): string {
  return `    ${isValid ? '' : 'not valid: '}${problem.replaceAll('\n', '\n    ')}`;
}

/** Returns the name of a test on one line. In a test file, a name can have several lines. */
function nameOnOneLine(name: string): string {
  return name.trim().replace(/\s+/g, ' ');
}

/** Returns the results of a test file as JSON. */
export function fileValue({ file, tests, problems }: ReportedFile) {
  const values = tests.map((test) => ({ name: test.name, passed: hasPassed(test), problems: [...test.problems] }));
  return { file, tests: values, ...(problems && { problems: [...problems] }) };
}

import { writeFile } from 'node:fs/promises';
import { cleaned } from '../core/answer/response.ts';
import { FlowError, usageError } from '../core/failure.ts';
import { counted } from '../core/text/number.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { type ChosenTests, type FileResult, findTestFiles, folderOfFlows, loadTestFile, runTestFile } from '../flow-tests/test-files.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { messageWithAdvice } from './advice.ts';
import { flowErrorText } from './show/problems.ts';
import { printJson, type Terminal } from './terminal.ts';

interface TestOptions {
  readonly only?: string;
  readonly json?: boolean;
  readonly junit?: string;
}

interface ReportedFile {
  readonly file: string;
  readonly tests: readonly ReportedTest[];
  /** The reasons why none of the file's tests could run; undefined if they could. */
  readonly problems?: readonly string[];
}

interface ReportedTest {
  readonly name: string;
  readonly problems: readonly string[];
  /** False if the test could not run. Its problems are then the reasons. */
  readonly isValid: boolean;
}

export async function testCommand(places: readonly string[] = [], options: TestOptions, terminal: Terminal): Promise<number> {
  const { only, json, junit } = options;
  if (places.length === 0) await folderOfFlows();
  const files = await findTestFiles(places.length === 0 ? ['.'] : places);
  const results: FileResult[] = [];
  for (const loaded of chosenTests(await loadFiles(files), only)) {
    const result = 'chosen' in loaded ? await runTestFile(loaded) : loaded;
    results.push(result);
    sayErrors(result, terminal);
    if (!json) await terminal.print(cleaned(fileText(reportedFile(result))));
  }
  const reported = results.map(reportedFile);
  const counts = countTests(reported);
  if (json) await printJson({ passed: counts.passed, failed: counts.failed, files: reported.map(fileValue) }, terminal);
  else await terminal.print(countsText(counts));
  if (junit !== undefined) await namingErrors(junit, 'written', () => writeFile(junit, junitXml(reported)));
  if (errorsIn(results).length > 0) return exitCodes.flow;
  return counts.failed > 0 ? exitCodes.problemsFound : exitCodes.success;
}

type LoadedTests = ChosenTests | FileResult;

async function loadFiles(paths: readonly string[]): Promise<LoadedTests[]> {
  const loaded: LoadedTests[] = [];
  for (const path of paths) {
    try {
      const file = await loadTestFile(path);
      loaded.push({ file, chosen: [...file.tests.keys()] });
    } catch (error) {
      if (!(error instanceof FlowError)) throw error;
      loaded.push({ file: path, tests: [], error });
    }
  }
  return loaded;
}

/** Keeps tests whose names contain the text, and files that are not valid. Throws an AutomateError (`usage`) if there are neither. */
function chosenTests(files: readonly LoadedTests[], text: string | undefined): readonly LoadedTests[] {
  if (text === undefined) return files;
  const wanted = text.toLowerCase();
  const chosen = files.flatMap((loaded): LoadedTests[] => {
    // A file that is not valid might contain a matching test, so it is kept.
    if (!('chosen' in loaded)) return [loaded];
    const { file } = loaded;
    const some = loaded.chosen.filter((index) => file.tests[index]?.name.toLowerCase().includes(wanted));
    return some.length > 0 ? [{ file, chosen: some }] : [];
  });
  if (chosen.length === 0) throw usageError(`no test has "${text}" in its name`);
  return chosen;
}

function errorsIn(results: readonly FileResult[]): FlowError[] {
  return results.flatMap(({ error, tests }) => [...(error ? [error] : []), ...tests.flatMap((test) => test.error ?? [])]);
}

function sayErrors(result: FileResult, { say, colors }: Terminal): void {
  for (const error of errorsIn([result])) {
    const owner = error.file === result.file ? '' : `, the flow of ${result.file}`;
    say(`${flowErrorText(error, colors)}${owner}`);
  }
}

function reportedFile({ file, tests, error }: FileResult): ReportedFile {
  return {
    file,
    tests: tests.map(({ name, problems, error: own }) => ({ name, problems: own ? problemTexts(own) : problems, isValid: !own })),
    ...(error && { problems: problemTexts(error) }),
  };
}

function problemTexts({ file, problems }: FlowError): string[] {
  return problems.map((problem) => {
    const place = problem.line === undefined ? file : `${file}:${problem.line}:${problem.column}`;
    return `${place}: ${messageWithAdvice(problem)}`;
  });
}

interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly invalidFiles: number;
}

/** A test that is not valid has failed. */
function countTests(files: readonly ReportedFile[]): TestCounts {
  const tests = files.flatMap((file) => file.tests);
  const passed = tests.filter(hasPassed).length;
  return { passed, failed: tests.length - passed, invalidFiles: files.filter(({ problems }) => problems).length };
}

function hasPassed({ problems }: ReportedTest): boolean {
  return problems.length === 0;
}

function countsText({ passed, failed, invalidFiles }: TestCounts): string {
  const invalid = invalidFiles === 0 ? '' : `, ${counted(invalidFiles, 'file')} not valid`;
  return `${passed} passed, ${failed} failed${invalid}`;
}

function fileText({ file, tests, problems: ofFile }: ReportedFile): string {
  if (ofFile) return `FAIL  ${file}: not valid`;
  const failed = tests.filter((test) => !hasPassed(test));
  if (failed.length === 0) return `ok    ${file}: ${counted(tests.length, 'test')}`;
  return [
    `FAIL  ${file}: ${failed.length} of ${counted(tests.length, 'test')} failed`,
    ...failed.flatMap(({ name, problems, isValid }) => [
      `  ${nameOnOneLine(name)}`,
      ...problems.map((problem) => `    ${isValid ? '' : 'not valid: '}${problem.replaceAll('\n', '\n    ')}`),
    ]),
  ].join('\n');
}

/** A name in a test file can have several lines. */
function nameOnOneLine(name: string): string {
  return name.trim().replace(/\s+/g, ' ');
}

function fileValue({ file, tests, problems }: ReportedFile) {
  const values = tests.map((test) => ({ name: test.name, passed: hasPassed(test), problems: [...test.problems] }));
  return { file, tests: values, ...(problems && { problems: [...problems] }) };
}

/** The format is https://github.com/testmoapp/junitxml, for CI systems. An invalid file is reported as one test with an error. */
function junitXml(files: readonly ReportedFile[]): string {
  const cases = files.map(({ file, tests, problems }) => ({ file, tests: problems ? [{ name: file, problems, isValid: false }] : tests }));
  const suites = cases.map(({ file, tests }) => {
    const results = tests.map((test) => xmlElement('testcase', { name: test.name, classname: file }, caseResult(test)));
    return xmlElement('testsuite', { name: file, ...countAttributes(tests) }, results);
  });
  const all = cases.flatMap(({ tests }) => tests);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xmlElement('testsuites', countAttributes(all), suites)}`;
}

function caseResult({ problems, isValid }: ReportedTest): string[] {
  const [first] = problems;
  if (first === undefined) return [];
  const [message = ''] = first.split('\n', 1);
  const name = isValid ? 'failure' : 'error';
  return [`<${name} message="${escapedXml(message)}">${escapedXml(problems.join('\n'))}</${name}>\n`];
}

function countAttributes(tests: readonly ReportedTest[]): Readonly<Record<string, string>> {
  const failed = tests.filter(({ problems }) => problems.length > 0);
  const errors = failed.filter(({ isValid }) => !isValid).length;
  const failures = failed.length - errors;
  return { tests: String(tests.length), failures: String(failures), ...(errors > 0 && { errors: String(errors) }) };
}

function xmlElement(name: string, attributes: Readonly<Record<string, string>>, content: readonly string[]): string {
  const start = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${escapedXml(value)}"`)].join(' ');
  return content.length === 0 ? `<${start}/>\n` : `<${start}>\n${content.join('')}</${name}>\n`;
}

const references: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Also removes the characters that XML 1.0 forbids. */
function escapedXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids them
  const allowed = text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
  return allowed.replace(/[&<>"]/g, (character) => references[character] as string);
}

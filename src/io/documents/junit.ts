import { XMLBuilder } from 'fast-xml-parser';

/** A test file with the results of its tests. */
export interface ReportedFile {
  readonly file: string;
  readonly tests: readonly ReportedTest[];
  /** The reasons why none of the file's tests could run; undefined if they could. */
  readonly problems?: readonly string[];
}

/** A test with its problems. The test has passed if there are none. */
export interface ReportedTest {
  readonly name: string;
  readonly problems: readonly string[];
  /** False if the test could not run. Its problems are then the reasons. */
  readonly isValid: boolean;
}

const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', format: true, suppressEmptyNode: true });

/**
 * Returns test results as JUnit XML (https://github.com/testmoapp/junitxml), which CI systems can read. An invalid file is reported as one
 * test with an error.
 */
export function junitXml(files: readonly ReportedFile[]): string {
  const cases = files.map(({ file, tests, problems }) => ({ file, tests: problems ? [{ name: file, problems, isValid: false }] : tests }));
  const suites = cases.map(({ file, tests }) => ({
    '@name': allowed(file),
    ...countAttributes(tests),
    testcase: tests.map((test) => ({ '@name': allowed(test.name), '@classname': allowed(file), ...caseResult(test) })),
  }));
  const all = cases.flatMap(({ tests }) => tests);
  return builder.build({ '?xml': { '@version': '1.0', '@encoding': 'UTF-8' }, testsuites: { ...countAttributes(all), testsuite: suites } });
}

function caseResult({ problems, isValid }: ReportedTest): object {
  const [first] = problems;
  if (first === undefined) return {};
  const shown = { '@message': allowed(first.split('\n', 1)[0] as string), '#text': allowed(problems.join('\n')) };
  return isValid ? { failure: shown } : { error: shown };
}

function countAttributes(tests: readonly ReportedTest[]): Readonly<Record<string, string>> {
  const failed = tests.filter(({ problems }) => problems.length > 0);
  const errors = failed.filter(({ isValid }) => !isValid).length;
  const failures = failed.length - errors;
  return { '@tests': String(tests.length), '@failures': String(failures), ...(errors > 0 && { '@errors': String(errors) }) };
}

/** Removes the characters that XML 1.0 forbids. */
function allowed(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids them
  return text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
}

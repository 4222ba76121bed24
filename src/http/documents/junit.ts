export interface ReportedFile {
  readonly file: string;
  readonly tests: readonly ReportedTest[];
  /** The reasons why none of the file's tests could run; undefined if they could. */
  readonly problems?: readonly string[];
}

/** The test has passed if it has no problems. */
export interface ReportedTest {
  readonly name: string;
  readonly problems: readonly string[];
  /** False if the test could not run. Its problems are then the reasons. */
  readonly isValid: boolean;
}

/**
 * The format is https://github.com/testmoapp/junitxml, which CI systems can read. An invalid file is reported as one test with an error.
 */
export function junitXml(files: readonly ReportedFile[]): string {
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

import { readdir, readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { inQuotes } from '../core/answer/response.ts';
import { detailsOf } from '../core/error-code.ts';
import { AutomateError, FlowError, type Problem } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import { defaultEnv } from '../core/run-options.ts';
import { similarFile } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { fullPath, statOf } from '../files/stat.ts';
import { loadFlow, readDataFiles, readFlowText } from '../run/flow-file.ts';
import { testFileOf } from '../run/reserved-paths.ts';
import { answerProblems, checkTest, type TestResult } from './check-test.ts';
import { readTestFile, type TestFile } from './test-file.ts';
import type { FlowTest } from './test-schema.ts';

export interface FileResult {
  readonly file: string;
  /** Empty if none of the tests could run. */
  readonly tests: readonly TestResult[];
  /** The reason why none of the tests could run; undefined if any could. */
  readonly error?: FlowError;
}

export interface ChosenTests {
  readonly file: TestFile;
  readonly chosen: readonly number[];
}

/** Searches folders with their subfolders. Throws an AutomateError (`usage`) if a path does not exist, or if no test file is found. */
export async function findTestFiles(places: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const place of places) {
    const stat = statOf(place);
    if (!stat) throw new AutomateError('usage', `there is no file or folder ${place}`);
    found.push(...(stat.isDirectory() ? await filesBelow(place) : [normalize(place)]));
  }
  if (found.length === 0) {
    const where = places.map((place) => (place === '.' ? 'here' : `in ${place}`)).join(' or ');
    throw new AutomateError('usage', `no tests ${where}\nwrite some into a file whose name ends in .test.yaml`);
  }
  const byFile = new Map<string, string>();
  for (const path of found) if (!byFile.has(fullPath(path))) byFile.set(fullPath(path), path);
  return [...byFile.values()];
}

/** Throws an AutomateError (`usage`) if the current folder has no flow and no tests: a search below it could walk through a whole disk. */
export async function folderOfFlows(): Promise<string> {
  const folder = process.cwd();
  const names = await namingErrors(folder, 'read', () => readdir(folder));
  for (const name of names.filter((one) => /\.ya?ml$/.test(one))) {
    if (/\.test\.ya?ml$/.test(name) || /^nodes\s*:/m.test(await readFile(join(folder, name), 'utf8').catch(() => ''))) return folder;
  }
  throw new AutomateError('usage', `the folder ${folder} has no flow\nwrite the folder or the file of the tests: automate test flows`);
}

/** Leaves out hidden folders and `node_modules`. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await namingErrors(folder, 'read', () => readdir(folder, { withFileTypes: true }));
  const found: string[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) found.push(...(await filesBelow(path)));
    else if (!entry.isDirectory() && /\.test\.ya?ml$/.test(entry.name) && statOf(path)?.isFile()) found.push(path);
  }
  return found;
}

/** Reads a file of tests. Throws a FlowError if it is not valid. */
export async function loadTestFile(path: string): Promise<TestFile> {
  const text = await readFlowText(path, 'file of tests');
  const beside = testFileOf(path);
  return readTestFile(text, path, statOf(beside)?.isFile() ? beside : undefined);
}

/** Runs the chosen tests of a file, one after another. If one test is not valid, the others still run. */
export async function runTestFile({ file, chosen }: ChosenTests): Promise<FileResult> {
  const made: MadeTest[] = [];
  for (const index of chosen) made.push(await madeTest(file, index));
  const shared = sharedError(made);
  if (shared) return { file: file.file, tests: [], error: shared };
  const tests: TestResult[] = [];
  for (const { test, plan, error } of made) tests.push(plan ? await checkTest(plan, test) : { name: test.name, problems: [], error });
  return { file: file.file, tests };
}

interface MadeTest {
  readonly test: FlowTest;
  readonly plan?: Plan;
  readonly error?: FlowError;
  /** True if the error is in the flow, not in the test. */
  readonly isOfFlow?: boolean;
}

async function madeTest(file: TestFile, index: number): Promise<MadeTest> {
  const test = file.tests[index] as FlowTest;
  try {
    const plan = await planFor(file, test);
    const problems = answerProblems(file, test, index, plan);
    return problems.length > 0 ? { test, error: new FlowError(file.file, problems) } : { test, plan };
  } catch (error) {
    const own = ownError(error, file, index);
    if (own) return { test, error: own };
    if (!(error instanceof FlowError)) throw error;
    const others = error.problems.filter((problem) => missingKey(problem) === undefined);
    return { test, error: new FlowError(error.file, others), isOfFlow: true };
  }
}

/** Returns the flow's error if it keeps every test from running; undefined if a test can run, or if the tests have different errors. */
function sharedError(tests: readonly MadeTest[]): FlowError | undefined {
  const [first] = tests;
  const problemsIn = ({ error }: MadeTest) => JSON.stringify(error?.problems);
  return tests.every((test) => test.isOfFlow && problemsIn(test) === problemsIn(first as MadeTest)) ? first?.error : undefined;
}

async function planFor({ file, flow: written, at }: TestFile, { env = defaultEnv, options = {} }: FlowTest): Promise<Plan> {
  const flow = isAbsolute(written) ? written : join(dirname(file), written);
  const stat = statOf(flow);
  const flowError = (message: string) => new FlowError(file, [at(['flow'], message)]);
  if (!stat) throw flowError(`there is no flow ${flow}${similarFile(flow)}`);
  if (stat.isDirectory()) throw flowError(`expected the file of a flow, found the folder ${flow}`);
  const { var: variables = {}, allow_http: allowHttp = false } = options;
  const plan = await loadFlow(flow, { env, var: Object.entries(variables), allowHttp, textCells: false, mayBeCells: true });
  await readDataFiles(plan).catch((error: unknown) => {
    throw error instanceof AutomateError ? flowError(error.message) : error;
  });
  return plan;
}

/** Returns the error of a test that sets an invalid variable, or lacks an option that its flow requires; undefined for any other error. */
function ownError(error: unknown, { file, tests, at, atName }: TestFile, index: number): FlowError | undefined {
  const wrong = detailsOf(error, 'invalid-option');
  if (wrong) return new FlowError(file, [atName(['tests', index, 'options', 'var', wrong.entry ?? ''], (error as AutomateError).message)]);
  if (!(error instanceof FlowError)) return undefined;
  const name = inQuotes(tests[index]?.name ?? '');
  const problems = error.problems.flatMap((problem) => {
    const missing = missingKey(problem);
    const reason = `${error.file}:${problem.line}:${problem.column}: ${problem.message}`;
    return missing === undefined ? [] : [at(['tests', index, 'name'], `the test ${name} cannot run: ${reason}\n${missing}`)];
  });
  return problems.length === error.problems.length ? new FlowError(file, problems) : undefined;
}

/** Describes the option that would let the test's flow compile. */
function missingKey(problem: Problem): string | undefined {
  const variable = detailsOf(problem, 'variable-missing')?.variable;
  if (variable !== undefined) return `give it one in this test: options: { var: { ${variable}: VALUE } }`;
  return detailsOf(problem, 'plain-http') && 'or allow it in this test: options: { allow_http: true }';
}

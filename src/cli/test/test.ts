import { writeFile } from 'node:fs/promises';
import { cleaned } from '../../core/answer/response.ts';
import { AutomateError, FlowError } from '../../core/failure.ts';
import { namingErrors } from '../../files/naming-errors.ts';
import { type ChosenTests, type FileResult, findTestFiles, loadTestFile, runTestFile } from '../../flow-tests/test-files.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { printJson } from '../show/print-json.ts';
import { flowErrorText } from '../show/problems.ts';
import type { Terminal } from '../terminal.ts';
import { countsText, countTests, fileText, fileValue, reportedFile } from './report.ts';
import type { TestOptions } from './test-options.ts';

/** Runs the tests of flows. Returns the exit code. */
export async function testCommand(places: readonly string[] = [], options: TestOptions, terminal: Terminal): Promise<number> {
  const { only, json, junit } = options;
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
  if (junit !== undefined) {
    const { junitXml } = await import('../../http/documents/junit.ts');
    await namingErrors(junit, 'written', () => writeFile(junit, junitXml(reported)));
  }
  if (errorsIn(results).length > 0) return exitCodes.flow;
  return counts.failed > 0 ? exitCodes.problemsFound : exitCodes.success;
}

/** The tests to run in a file, or the result of a file that is not valid. */
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

/**
 * Returns the tests whose names contain the text, and the files that are not valid. Throws an AutomateError (`usage`) if there are neither.
 */
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
  if (chosen.length === 0) throw new AutomateError('usage', `no test has "${text}" in its name`);
  return chosen;
}

function errorsIn(results: readonly FileResult[]): FlowError[] {
  return results.flatMap(({ error, tests }) => [...(error ? [error] : []), ...tests.flatMap((test) => test.error ?? [])]);
}

/** Prints the problems of a test file or its flow, with the lines that contain them. */
function sayErrors(result: FileResult, { say, colors }: Terminal): void {
  for (const error of errorsIn([result])) {
    const owner = error.file === result.file ? '' : `, the flow of ${result.file}`;
    say(`${flowErrorText(error, colors)}${owner}`);
  }
}

import { reportName } from '../arguments.ts';
import { parsedOption, textOption, type ValuesOf } from '../options.ts';
import { json } from '../shared-options.ts';

/** The options of `automate test`. */
export const testOptions = {
  only: textOption('--only <text>', 'run only the tests whose name contains this text'),
  json,
  junit: parsedOption('--junit <file>', reportName, 'write the results as JUnit XML to this file, for CI'),
};

/** The values of the options of `automate test`. */
export type TestOptions = ValuesOf<typeof testOptions>;

/** The exit codes of `automate test`, for its help. */
export const testExitCodes = `
Exit codes: 0 all tests passed, 1 a test failed, 2 wrong usage, or no such
tests, 3 a test file or a flow is not valid.`;

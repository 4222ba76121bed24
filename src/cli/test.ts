import { reportName } from './arguments.ts';
import { argumentList, command, parsedOption, textOption } from './options.ts';
import { json } from './shared-options.ts';

const testOptions = {
  only: textOption('--only <text>', 'run only the tests whose name contains this text'),
  json,
  junit: parsedOption('--junit <file>', reportName, 'write the results as JUnit XML to this file, for CI'),
};

const testExitCodes = `
Exit codes: 0 all tests passed, 1 a test failed, 2 wrong usage, or no such
tests, 3 a test file or a flow is not valid.`;

export const test = command({
  examples: ['automate test', 'automate test enrich.test.yaml --only unknown', 'automate test flows --junit report.xml'],
  args: { paths: argumentList('[paths...]', 'test files, or folders that contain some (default: the current folder)') },
  options: testOptions,
  footer: testExitCodes,
  run: async ({ args, options, terminal }) => (await import('./test-command.ts')).testCommand(args.paths, options, terminal),
});

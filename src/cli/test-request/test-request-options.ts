import { wholeNumber } from '../arguments.ts';
import { defaultsTo, flag, negated, optionalText, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { file, httpOptions, inputOptions, inputsOption, json, setOption, varOption } from '../shared-options.ts';

export const testRequestOptions = {
  in: inputsOption('the file from which to take a record, or - for stdin'),
  record: defaultsTo(1, parsedOption('--record <n>', wholeNumber(1), 'the number of the record to use')),
  set: setOption,
  var: varOption,
  node: textOption('--node <id>', 'the node whose request is sent (default: the first one that sends a request)'),
  json,
  curl: flag('--curl', 'send nothing, and print a curl command, which takes the secrets from environment variables'),
  write: optionalText(
    '--write [paths]',
    "add paths in the answer to the flow's map: paths separated by commas, or all; without a value, you choose from a list",
    {
      choices: async () => ['all'],
    },
  ),
  saveTest: textOption(
    '--save-test <name>',
    "run the record through the whole flow, and save it with its answers and rows as a test in the flow's .test.yaml file",
  ),
  send: negated('--no-send', 'show the request, but do not send it'),
  ...inputOptions,
  ...httpOptions,
  files: file('--files <dir>', 'folder below which files can be sent; a test does not save files (default: the folder of the input)'),
};

export type TestRequestOptions = ValuesOf<typeof testRequestOptions>;

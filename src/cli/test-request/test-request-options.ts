import { wholeNumber } from '../arguments.ts';
import { defaultsTo, flag, negated, optionalText, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { file, httpOptions, inputOptions, inputsOption, json, setOption, varOption } from '../shared-options.ts';

/** The options of `automate test-request`. */
export const testRequestOptions = {
  in: inputsOption('take the record from this file, or - for stdin'),
  record: defaultsTo(1, parsedOption('--record <n>', wholeNumber(1), 'number of the record, from 1')),
  set: setOption,
  var: varOption,
  node: textOption('--node <id>', 'the node to preview (default: the first that sends a request)'),
  json,
  curl: flag('--curl', 'print the request as a curl command line, and send nothing; secrets come from variables'),
  write: optionalText(
    '--write [paths]',
    'put these paths of the answer, separated by commas, or all of them into the map; asks without any',
    {
      choices: async () => ['all'],
    },
  ),
  send: negated('--no-send', 'send nothing'),
  ...inputOptions,
  ...httpOptions,
  files: file('--files <dir>', 'send files only below this folder (default: the folder of the input); a test saves none'),
};

/** The values of the options of `automate test-request`. */
export type TestRequestOptions = ValuesOf<typeof testRequestOptions>;

import { command, flag } from './options.ts';
import { flow, httpOptions, inputOptions, inputsOption, oneFlow, varOption } from './shared-options.ts';

const validateOptions = {
  in: inputsOption('check that the fields in the flow are columns of this file'),
  offline: flag(
    '--offline',
    'do not use the network, keychain or vault; only warn about credentials that are not in environment variables',
  ),
  var: varOption,
  ...httpOptions,
  ...inputOptions,
};

export const validate = command({
  examples: ['automate validate flow.yaml --in rows.csv', 'automate validate flow.yaml --offline'],
  args: { flow },
  tooManyArguments: oneFlow('validate'),
  options: validateOptions,
  run: async ({ args, options, terminal }) => (await import('./validate-command.ts')).validateCommand(args.flow, options, terminal),
});

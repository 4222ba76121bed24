import { argument, command } from '../options.ts';
import { cacertOption, envOption, json, varOption } from '../shared-options.ts';

export const doctor = command({
  examples: ['automate doctor', 'automate doctor flow.yaml', 'automate doctor flow.yaml --env staging'],
  args: { flow: argument('[flow]', 'the flow file (YAML) whose credentials and hosts are checked') },
  options: { json, var: varOption, env: envOption(), cacert: cacertOption() },
  run: async ({ args, options, terminal }) => (await import('./doctor-command.ts')).doctorCommand(args.flow, options, terminal),
});

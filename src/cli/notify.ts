import { argument, command } from './options.ts';
import { runOption } from './shared-options.ts';

export const notify = command({
  examples: ['automate notify slack:ops-channel', 'automate notify ping:nightly-check'],
  args: { target: argument('<kind:credential>', 'slack, webhook or ping, and the credential whose secret is the address') },
  options: { env: runOption('env'), cacert: runOption('cacert') },
  run: async ({ args, options, terminal }) => (await import('./run/run-notices.ts')).notifyCommand(args.target, options, terminal),
});

import { argument, type CommandSpec, command, flag } from '../options.ts';
import { json } from '../shared-options.ts';
import { ofEnv, setOptions } from './credential-options.ts';

const name = argument('<name>', 'the name of the credential', { listedBy: 'credentials' });
const onlyName = argument('[name]', 'show only this credential', { listedBy: 'credentials' });
const env = ofEnv();
const commands = () => import('./credentials.ts');

/** Declares `automate credentials` and its subcommands. */
export const credentials: CommandSpec = {
  name: 'credentials',
  help: 'store secrets in the keychain or in an encrypted vault, so that flows can use them by name',
  commands: [
    command({
      name: 'set',
      help: 'store a secret that you type or send to stdin, or a command that prints it',
      examples: [
        'automate credentials set crm-token',
        'automate credentials set crm-token --expires 90d < token.txt',
        "automate credentials set crm-token --command 'op read op://team/crm/token'",
        'automate credentials set gcp --command ./new-token.sh --for 50m',
      ],
      args: { name: argument('<name>', 'the name of the credential, as it is written in flows', { listedBy: 'credentials' }) },
      options: setOptions,
      tooManyArguments:
        "expected a name and nothing else: the secret comes from a prompt or from stdin\nwhat you typed here may now be in the shell's history, and was visible in the list of processes",
      async run({ args, options, terminal }) {
        const { command } = options;
        if (command === undefined) return (await import('./credentials-set.ts')).setCommand(args.name, options, terminal);
        return (await import('./command-set.ts')).setSecretCommand(args.name, { ...options, command }, terminal);
      },
    }),
    command({
      name: 'list',
      help: 'list the credentials with their backend, age, expiry and last use',
      examples: ['automate credentials list', 'automate credentials list --env staging'],
      args: { name: onlyName },
      options: { env: ofEnv('all environments'), json },
      run: async ({ args, options, terminal }) => (await commands()).listCredentials(args.name, options, terminal),
    }),
    command({
      name: 'show',
      help: 'show a credential, but not its secret',
      examples: ['automate credentials show crm-token'],
      args: { name },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await commands()).showCredential(args.name, options, terminal),
    }),
    command({
      name: 'remove',
      help: 'remove a credential and its secret',
      examples: ['automate credentials remove crm-token'],
      args: { name },
      options: { env, force: flag('--force', 'remove the entry even if its keychain or vault cannot be opened') },
      run: async ({ args, options, terminal }) => (await commands()).removeCommand(args.name, options, terminal),
    }),
    command({
      name: 'restore',
      help: 'restore the previous secret, which stays stored until the new one has worked',
      examples: ['automate credentials restore crm-token'],
      args: { name },
      options: { env },
      run: async ({ args, options, terminal }) => (await commands()).restoreCommand(args.name, options, terminal),
    }),
    command({
      name: 'check',
      help: 'look up each credential as a run does, run its command if it has one, and report problems',
      examples: ['automate credentials check', 'automate credentials check crm-token'],
      args: { name: argument('[name]', 'check only this credential (default: all)', { listedBy: 'credentials' }) },
      options: { env },
      run: async ({ args, options, terminal }) => (await commands()).checkCommand(args.name, options, terminal),
    }),
    command({
      name: 'backend',
      help: 'show which backend stores credentials, and why the others are not used',
      examples: ['automate credentials backend', 'automate credentials backend crm-token'],
      args: { name: argument('[name]', 'show the backend of this credential', { listedBy: 'credentials' }) },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await commands()).backendCommand(args.name, options, terminal),
    }),
  ],
};

import { ofEnv, setOptions } from './credentials-set-options.ts';
import { argument, type CommandCode, flag, subcommand } from './options.ts';
import { json } from './shared-options.ts';

const name = argument('<name>', 'the name of the credential', { listedBy: 'credentials' });

const onlyName = argument('[name]', 'show only this credential', { listedBy: 'credentials' });

const env = ofEnv();

export const credentials: CommandCode = {
  commands: [
    subcommand({
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
        const { setCommand, setSecretCommand } = await import('./credentials-set.ts');
        if (command === undefined) return setCommand(args.name, options, terminal);
        return setSecretCommand(args.name, { ...options, command }, terminal);
      },
    }),
    subcommand({
      name: 'list',
      help: 'list the credentials with their backend, age, expiry and last use',
      examples: ['automate credentials list', 'automate credentials list --env staging'],
      args: { name: onlyName },
      options: { env: ofEnv('all environments'), json },
      run: async ({ args, options, terminal }) => (await import('./credentials-command.ts')).listCredentials(args.name, options, terminal),
    }),
    subcommand({
      name: 'show',
      help: 'show a credential, but not its secret',
      examples: ['automate credentials show crm-token'],
      args: { name },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await import('./credentials-command.ts')).showCredential(args.name, options, terminal),
    }),
    subcommand({
      name: 'remove',
      help: 'remove a credential and its secret',
      examples: ['automate credentials remove crm-token'],
      args: { name },
      options: { env, force: flag('--force', 'remove the entry even if its keychain or vault cannot be opened') },
      run: async ({ args, options, terminal }) => (await import('./credentials-command.ts')).removeCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'restore',
      help: 'restore the previous secret, which stays stored until the new one has worked',
      examples: ['automate credentials restore crm-token'],
      args: { name },
      options: { env },
      run: async ({ args, options, terminal }) => (await import('./credentials-command.ts')).restoreCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'check',
      help: 'look up each credential as a run does, run its command if it has one, and report problems',
      examples: ['automate credentials check', 'automate credentials check crm-token'],
      args: { name: argument('[name]', 'check only this credential (default: all)', { listedBy: 'credentials' }) },
      options: { env },
      run: async ({ args, options, terminal }) => (await import('./credentials-command.ts')).checkCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'backend',
      help: 'show which backend stores credentials, and why the others are not used',
      examples: ['automate credentials backend', 'automate credentials backend crm-token'],
      args: { name: argument('[name]', 'show the backend of this credential', { listedBy: 'credentials' }) },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await import('./credentials-command.ts')).backendCommand(args.name, options, terminal),
    }),
  ],
};

import { argument, type CommandSpec, command, flag } from '../options.ts';
import { json } from '../shared-options.ts';
import { ofEnv, setOptions } from './credential-options.ts';

const name = argument('<name>', "the credential's name", { listedBy: 'credentials' });
const onlyName = argument('[name]', 'only this one', { listedBy: 'credentials' });
const env = ofEnv();
const commands = () => import('./credentials.ts');

/** `automate credentials` and its commands. */
export const credentials: CommandSpec = {
  name: 'credentials',
  help: 'store secrets in the keychain or in an encrypted vault; they are never shown and never an argument',
  commands: [
    command({
      name: 'set',
      help: 'store a secret, from a prompt or from stdin, or the command that gives it',
      examples: [
        'automate credentials set crm-token',
        'automate credentials set crm-token --expires 90d < token.txt',
        "automate credentials set crm-token --command 'op read op://team/crm/token'",
        'automate credentials set gcp --command ./new-token.sh --for 50m',
      ],
      args: { name: argument('<name>', "the credential's name, as in flows", { listedBy: 'credentials' }) },
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
      help: 'list credentials with their backend, age, expiry and last use',
      examples: ['automate credentials list'],
      args: { name: onlyName },
      options: { env: ofEnv('all of them'), json },
      run: async ({ args, options, terminal }) => (await commands()).listCredentials(args.name, options, terminal),
    }),
    command({
      name: 'show',
      help: 'show a credential without its secret',
      examples: ['automate credentials show crm-token'],
      args: { name },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await commands()).showCredential(args.name, options, terminal),
    }),
    command({
      name: 'remove',
      help: 'remove a credential',
      examples: ['automate credentials remove crm-token'],
      args: { name },
      options: { env, force: flag('--force', 'forget it even if its keychain or vault cannot be opened') },
      run: async ({ args, options, terminal }) => (await commands()).removeCommand(args.name, options, terminal),
    }),
    command({
      name: 'restore',
      help: 'bring back the previous secret, which is stored until the new one has worked',
      examples: ['automate credentials restore crm-token'],
      args: { name },
      options: { env },
      run: async ({ args, options, terminal }) => (await commands()).restoreCommand(args.name, options, terminal),
    }),
    command({
      name: 'check',
      help: 'look up credentials as a run does, run their commands, and report problems',
      examples: ['automate credentials check', 'automate credentials check crm-token'],
      args: { name: argument('[name]', 'only this one (default: all)', { listedBy: 'credentials' }) },
      options: { env },
      run: async ({ args, options, terminal }) => (await commands()).checkCommand(args.name, options, terminal),
    }),
    command({
      name: 'backend',
      help: 'show the credential backends: the one in use, and why others are not',
      examples: ['automate credentials backend'],
      args: { name: argument('[name]', 'for this credential', { listedBy: 'credentials' }) },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await commands()).backendCommand(args.name, options, terminal),
    }),
  ],
};

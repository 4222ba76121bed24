import { argument, type CommandSpec, command, flag } from '../options.ts';
import { json } from '../shared-options.ts';
import { ofEnv, setOptions } from './credential-options.ts';

const name = argument('<name>', "the credential's name");
const onlyName = argument('[name]', 'only this one');
const env = ofEnv();
const commands = () => import('./credentials.ts');

/** `automate credentials` and its commands. */
export const credentials: CommandSpec = {
  name: 'credentials',
  help: 'store secrets in the keychain or in an encrypted vault; they are never shown and never an argument',
  commands: [
    command({
      name: 'set',
      help: 'store a secret, from a prompt or from stdin',
      args: { name: argument('<name>', "the credential's name, as in flows") },
      options: setOptions,
      tooManyArguments:
        "expected a name and nothing else: the secret comes from a prompt or from stdin\nwhat you typed here may now be in the shell's history, and was visible in the list of processes",
      run: async ({ args, options, terminal }) => (await import('./credentials-set.ts')).setCommand(args.name, options, terminal),
    }),
    command({
      name: 'list',
      help: 'list credentials with their backend, age, expiry and last use',
      args: { name: onlyName },
      options: { env: ofEnv('all of them'), json },
      run: async ({ args, options, terminal }) => (await commands()).listCommand(args.name, options, terminal),
    }),
    command({
      name: 'show',
      help: 'show a credential without its secret',
      args: { name },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await commands()).showCommand(args.name, options, terminal),
    }),
    command({
      name: 'remove',
      help: 'remove a credential',
      args: { name },
      options: { env, force: flag('--force', 'forget it even if its keychain or vault cannot be opened') },
      run: async ({ args, options, terminal }) => (await commands()).removeCommand(args.name, options, terminal),
    }),
    command({
      name: 'restore',
      help: 'bring back the previous secret, which is stored until the new one has worked',
      args: { name },
      options: { env },
      run: async ({ args, options, terminal }) => (await commands()).restoreCommand(args.name, options, terminal),
    }),
    command({
      name: 'check',
      help: 'look up credentials as a run does, and report problems',
      args: { name: argument('[name]', 'only this one (default: all)') },
      options: { env },
      run: async ({ args, options, terminal }) => (await commands()).checkCommand(args.name, options, terminal),
    }),
    command({
      name: 'backend',
      help: 'show the credential backends: the one in use, and why others are not',
      args: { name: argument('[name]', 'for this credential') },
      options: { env, json },
      run: async ({ args, options, terminal }) => (await commands()).backendCommand(args.name, options, terminal),
    }),
  ],
};

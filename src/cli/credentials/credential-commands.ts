import type { Command } from 'commander';
import { AutomateError } from '../../core/failure.ts';
import { listArgument } from '../arguments.ts';
import type { Terminal } from '../terminal.ts';

const neverAnArgument =
  "expected a name and nothing else: the secret is asked for, or read from stdin\nwhat was written here may be in the shell's history now, and was seen by whoever lists processes";

/** Adds `automate credentials` and its commands. What they do is loaded when they are called. */
export function addCredentialCommands(program: Command, terminal: Terminal, exit: (code: number) => void): void {
  const credentials = program
    .command('credentials')
    .description('keep secrets: in the keychain, or in an encrypted vault; never shown, never an argument');
  const add = (name: string, description: string, unnamed = 'AUTOMATE_ENV, else default') =>
    credentials
      .command(name)
      .description(description)
      .option('--env <name>', `of which environment, such as staging (default: ${unnamed})`);
  const commands = () => import('./credentials.ts');
  const json = ['--json', 'print JSON'] as const;

  add('set', 'keep a secret: it is asked for, or read from stdin')
    .argument('<name>', "the credential's name, as flows write it")
    .option('--expires <when>', 'when it ends: a duration such as 90d, or a day such as 2030-12-31')
    .option('--hosts <hosts>', 'send it to these hosts only, such as api.example.com,*.example.com; * lifts that', listArgument)
    .option('--backend <name>', 'where to keep it: keychain or vault (default: where it is, else the first that can be used)')
    .allowExcessArguments()
    .action(async (name, options, command) => {
      if (command.args.length > 1) throw new AutomateError('usage', neverAnArgument);
      exit(await (await import('./credentials-set.ts')).setCommand(name, options, terminal));
    });

  add('list', 'list credentials: where they are, their age, their end and their last use', 'all of them')
    .argument('[name]', 'only this one')
    .option(...json)
    .action(async (name, options) => exit(await (await commands()).listCommand(name, options, terminal)));

  add('show', 'tell what is known of a credential, but for its value')
    .argument('<name>', "the credential's name")
    .option(...json)
    .action(async (name, options) => exit(await (await commands()).showCommand(name, options, terminal)));

  add('remove', 'take a credential away')
    .argument('<name>', "the credential's name")
    .option('--force', 'forget it even where its keychain or vault cannot be opened')
    .action(async (name, options) => exit(await (await commands()).removeCommand(name, options, terminal)));

  add('restore', 'put the secret before the present one back; it is kept until the present one has succeeded')
    .argument('<name>', "the credential's name")
    .action(async (name, options) => exit(await (await commands()).restoreCommand(name, options, terminal)));

  add('check', 'look credentials up as a run does, and say what is wrong')
    .argument('[name]', 'only this one (default: all that are there)')
    .action(async (name, options) => exit(await (await commands()).checkCommand(name, options, terminal)));

  add('backend', 'tell where secrets can be kept, which place is used, and why not the others')
    .argument('[name]', 'for this credential')
    .option(...json)
    .action(async (name, options) => exit(await (await commands()).backendCommand(name, options, terminal)));
}

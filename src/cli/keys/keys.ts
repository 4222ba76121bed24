import { argument, type CommandCode, subcommand } from '../options.ts';
import { json } from '../shared-options.ts';
import { changeOptions, createOptions, listOptions, revokeOptions, rotateOptions, usageOptions } from './keys-options.ts';

const name = argument('<name>', 'the name or id of the key', { listedBy: 'keys' });

export const keys: CommandCode = {
  commands: [
    subcommand({
      name: 'create',
      help: 'make a key and print its value, which is shown only once',
      examples: [
        'automate keys create crm',
        'automate keys create crm --flows enrich --scopes run,read --expires 90d',
        'automate keys create shop --rate 60/min --credits 1000 > shop.key',
      ],
      args: { name: argument('<name>', 'a name for the key, 1 to 64 characters') },
      options: createOptions,
      run: async ({ args, options, terminal }) => (await import('./keys-command.ts')).createCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'list',
      help: 'list the keys with their rights, expiry and last use, but without their values',
      examples: ['automate keys list', 'automate keys list --all --json'],
      options: listOptions,
      run: async ({ options, terminal }) => (await import('./keys-command.ts')).listKeys(options, terminal),
    }),
    subcommand({
      name: 'show',
      help: 'show a key without its value',
      examples: ['automate keys show crm', 'automate keys show crm --json'],
      args: { name },
      options: { json },
      run: async ({ args, options, terminal }) => (await import('./keys-command.ts')).showKey(args.name, options, terminal),
    }),
    subcommand({
      name: 'usage',
      help: 'show what each key did in a month, or what one key did each day',
      examples: ['automate keys usage', 'automate keys usage crm --month 2026-11'],
      args: { name: argument('[name]', 'show only this key, day by day', { listedBy: 'keys' }) },
      options: usageOptions,
      run: async ({ args, options, terminal }) => (await import('./keys-usage.ts')).usageCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'change',
      help: 'change the limits of a key, but not its value; this takes effect at once, even on a running server',
      examples: ['automate keys change crm --credits 5000', 'automate keys change crm --credits unlimited --expires 90d'],
      args: { name },
      options: changeOptions,
      run: async ({ args, options, terminal }) => (await import('./keys-command.ts')).changeCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'rotate',
      help: 'give a key a new value and print it; the old value still works for a while',
      examples: ['automate keys rotate crm', 'automate keys rotate crm --overlap 7d'],
      args: { name },
      options: rotateOptions,
      run: async ({ args, options, terminal }) => (await import('./keys-command.ts')).rotateCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'revoke',
      help: 'make a key invalid, at once and permanently',
      examples: ['automate keys revoke crm', 'automate keys revoke crm --stop-runs'],
      args: { name },
      options: revokeOptions,
      run: async ({ args, options, terminal }) => (await import('./keys-command.ts')).revokeCommand(args.name, options, terminal),
    }),
  ],
};

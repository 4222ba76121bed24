import { listArgument } from './arguments.ts';
import { argument, type CommandCode, flag, parsedOption, subcommand, textOption } from './options.ts';
import { json } from './shared-options.ts';

const addOptions = {
  url: textOption('--url <url>', 'the URL to which messages are sent: https, or http on this machine'),
  flows: parsedOption('--flows <names>', listArgument, 'send messages only for these flows, such as enrich,geocode (default: all)'),
  allowPrivate: flag('--allow-private', 'allow an address inside your network'),
};

const name = argument('<name>', 'the name of the webhook', { listedBy: 'webhooks' });

export const webhooks: CommandCode = {
  commands: [
    subcommand({
      name: 'add',
      help: 'add a URL to notify, and print the secret that signs its messages, which is shown only once',
      examples: [
        'automate webhooks add crm --url https://crm.example.com/hooks/automate',
        'automate webhooks add ops --url https://ops.example.com/in --flows enrich',
      ],
      args: { name: argument('<name>', 'a name for the webhook: letters, digits, _ and -') },
      options: addOptions,
      run: async ({ args, options, terminal }) => (await import('./webhooks-command.ts')).addWebhook(args.name, options, terminal),
    }),
    subcommand({
      name: 'list',
      help: 'list the webhooks, with the result of the last message of each',
      examples: ['automate webhooks list', 'automate webhooks list --json'],
      options: { json },
      run: async ({ options, terminal }) => (await import('./webhooks-command.ts')).listWebhooks(options, terminal),
    }),
    subcommand({
      name: 'test',
      help: 'send one test message now, of the type webhook.test',
      examples: ['automate webhooks test crm'],
      args: { name },
      options: {},
      run: async ({ args, terminal }) => (await import('./webhooks-command.ts')).testWebhook(args.name, terminal),
    }),
    subcommand({
      name: 'remove',
      help: 'remove a webhook, with its secret and its unsent messages',
      examples: ['automate webhooks remove crm'],
      args: { name },
      options: {},
      run: async ({ args, terminal }) => (await import('./webhooks-command.ts')).removeWebhook(args.name, terminal),
    }),
  ],
};

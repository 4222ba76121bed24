import { argument, type CommandSpec, command } from '../options.ts';
import { json } from '../shared-options.ts';
import { addOptions } from './webhook-options.ts';

const name = argument('<name>', 'the name of the webhook', { listedBy: 'webhooks' });
const commands = () => import('./webhooks.ts');

/** Declares `automate webhooks` and its subcommands. */
export const webhooks: CommandSpec = {
  name: 'webhooks',
  help: 'notify other programs when a run of your server ends',
  commands: [
    command({
      name: 'add',
      help: 'add a URL to notify, and print the secret that signs its messages, which is shown only once',
      examples: [
        'automate webhooks add crm --url https://crm.example.com/hooks/automate',
        'automate webhooks add ops --url https://ops.example.com/in --flows enrich',
      ],
      args: { name: argument('<name>', 'a name for the webhook: letters, digits, _ and -') },
      options: addOptions,
      run: async ({ args, options, terminal }) => (await commands()).addWebhook(args.name, options, terminal),
    }),
    command({
      name: 'list',
      help: 'list the webhooks, with the result of the last message of each',
      examples: ['automate webhooks list', 'automate webhooks list --json'],
      options: { json },
      run: async ({ options, terminal }) => (await commands()).listWebhooks(options, terminal),
    }),
    command({
      name: 'test',
      help: 'send one test message now, of the type webhook.test',
      examples: ['automate webhooks test crm'],
      args: { name },
      options: {},
      run: async ({ args, terminal }) => (await commands()).testWebhook(args.name, terminal),
    }),
    command({
      name: 'remove',
      help: 'remove a webhook, with its secret and its unsent messages',
      examples: ['automate webhooks remove crm'],
      args: { name },
      options: {},
      run: async ({ args, terminal }) => (await commands()).removeWebhook(args.name, terminal),
    }),
  ],
};

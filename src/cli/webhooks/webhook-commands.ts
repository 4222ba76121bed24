import { argument, type CommandSpec, command } from '../options.ts';
import { json } from '../shared-options.ts';
import { addOptions } from './webhook-options.ts';

const name = argument('<name>', "the webhook's name", { listedBy: 'webhooks' });
const commands = () => import('./webhooks.ts');

/** `automate webhooks` and its commands. */
export const webhooks: CommandSpec = {
  name: 'webhooks',
  help: 'tell other programs when runs of your server end',
  commands: [
    command({
      name: 'add',
      help: 'add an address, and print the secret of its messages: it is shown only this once',
      examples: [
        'automate webhooks add crm --url https://crm.example.com/hooks/automate',
        'automate webhooks add ops --url https://ops.example.com/in --flows enrich',
      ],
      args: { name: argument('<name>', 'a name for it: letters, digits, _ and -') },
      options: addOptions,
      run: async ({ args, options, terminal }) => (await commands()).addWebhook(args.name, options, terminal),
    }),
    command({
      name: 'list',
      help: 'list the webhooks with the outcome of their last message',
      examples: ['automate webhooks list', 'automate webhooks list --json'],
      options: { json },
      run: async ({ options, terminal }) => (await commands()).listWebhooks(options, terminal),
    }),
    command({
      name: 'test',
      help: 'send a message of the type webhook.test now, once',
      examples: ['automate webhooks test crm'],
      args: { name },
      options: {},
      run: async ({ args, terminal }) => (await commands()).testWebhook(args.name, terminal),
    }),
    command({
      name: 'remove',
      help: 'remove a webhook, its secret and the messages that wait',
      examples: ['automate webhooks remove crm'],
      args: { name },
      options: {},
      run: async ({ args, terminal }) => (await commands()).removeWebhook(args.name, terminal),
    }),
  ],
};

import { argument, type CommandSpec, command, negated } from '../options.ts';
import { file, httpOptions, json, varOption } from '../shared-options.ts';
import { addOptions, pathOption } from './connection-options.ts';

const name = argument('<name>', "the connection's name", { listedBy: 'connections' });
const commands = () => import('./connections.ts');

/** `automate connections` and its commands. */
export const connections: CommandSpec = {
  name: 'connections',
  help: 'save named endpoints for flows: URL, authentication and limits, no secrets',
  commands: [
    command({
      name: 'add',
      help: 'save a connection; in a terminal it asks for what is missing',
      examples: [
        'automate connections add http crm --base-url https://crm.example.com/v2',
        'automate connections add --client-cert client.pem --client-key client.key',
        'automate connections add mcp search --url https://mcp.example.com/mcp',
      ],
      args: {
        type: argument('[type]', 'http or mcp', { choices: async () => ['http', 'mcp'] }),
        name: argument('[name]', "the connection's name, as in flows"),
      },
      options: addOptions,
      run: async ({ args, options, terminal }) => (await import('./connections-add.ts')).addCommand(args, options, terminal),
    }),
    command({
      name: 'list',
      help: 'list the saved connections',
      examples: ['automate connections list'],
      args: { name: argument('[name]', 'only this one', { listedBy: 'connections' }) },
      options: { json },
      run: async ({ args, options, terminal }) => (await commands()).listConnections(args.name, options, terminal),
    }),
    command({
      name: 'show',
      help: 'show a connection as YAML for a flow',
      examples: ['automate connections show crm'],
      args: { name },
      options: { json },
      run: async ({ args, options, terminal }) => (await commands()).showConnection(args.name, options, terminal),
    }),
    command({
      name: 'test',
      help: 'http: send one GET request, which costs a credit; mcp: ask the server for its tools, and log in if it requires that',
      examples: ['automate connections test crm --path /health'],
      args: { name },
      options: { path: pathOption, ...httpOptions },
      run: async ({ args, options, terminal }) => (await import('./connections-test.ts')).testCommand(args.name, options, terminal),
    }),
    command({
      name: 'login',
      help: 'log in to a connection with oauth2_authorization_code: opens the browser, and stores the tokens that renew themselves',
      examples: ['automate connections login crm', 'automate connections login crm --no-browser'],
      args: { name },
      options: {
        browser: negated('--no-browser', 'open no browser, and print the address to open'),
        flow: file('--flow <file>', 'log in to a connection of this flow, instead of a saved one'),
        var: varOption,
        ...httpOptions,
      },
      run: async ({ args, options, terminal }) => (await import('./connections-login.ts')).loginCommand(args.name, options, terminal),
    }),
    command({
      name: 'tools',
      help: 'list the tools of an MCP connection, or explain one, with a node to paste',
      examples: ['automate connections tools search'],
      args: { name, tool: argument('[tool]', 'only this one') },
      options: { json, ...httpOptions },
      run: async ({ args, options, terminal }) =>
        (await import('./connections-tools.ts')).toolsCommand(args.name, args.tool, options, terminal),
    }),
    command({
      name: 'remove',
      help: 'remove a saved connection, and the tokens of its login',
      examples: ['automate connections remove crm'],
      args: { name },
      run: async ({ args, terminal }) => (await commands()).removeCommand(args.name, terminal),
    }),
  ],
};

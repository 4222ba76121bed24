import { argument, type CommandCode, negated, subcommand } from '../options.ts';
import { file, httpOptions, json, varOption } from '../shared-options.ts';
import { addOptions, pathOption } from './connections-options.ts';

const name = argument('<name>', 'the name of the connection', { listedBy: 'connections' });

export const connections: CommandCode = {
  commands: [
    subcommand({
      name: 'add',
      help: 'save a connection; at a terminal, it asks for what is missing',
      examples: [
        'automate connections add http crm --base-url https://crm.example.com/v2',
        'automate connections add http bank --client-cert c.pem --client-key k.pem',
        'automate connections add mcp search --url https://mcp.example.com/mcp',
      ],
      args: {
        type: argument('[type]', 'the type of the connection: http or mcp', { choices: async () => ['http', 'mcp'] }),
        name: argument('[name]', 'the name of the connection, as it is written in flows'),
      },
      options: addOptions,
      tooManyArguments:
        'expected a type and a name, and nothing else: the address goes into --base-url for http, and into --url for mcp\n(see automate connections add --help)',
      run: async ({ args, options, terminal }) => (await import('./connections-add.ts')).addCommand(args, options, terminal),
    }),
    subcommand({
      name: 'list',
      help: 'list the saved connections',
      examples: ['automate connections list', 'automate connections list --json'],
      args: { name: argument('[name]', 'list only this connection', { listedBy: 'connections' }) },
      options: { json },
      run: async ({ args, options, terminal }) => (await import('./connections-command.ts')).listConnections(args.name, options, terminal),
    }),
    subcommand({
      name: 'show',
      help: 'show a connection as YAML for a flow',
      examples: ['automate connections show crm'],
      args: { name },
      options: { json },
      run: async ({ args, options, terminal }) => (await import('./connections-command.ts')).showConnection(args.name, options, terminal),
    }),
    subcommand({
      name: 'test',
      help: 'test a connection: send a GET request, which costs one credit, or list the tools of an MCP server, which may require a login',
      examples: ['automate connections test crm --path /health'],
      args: { name },
      options: { path: pathOption, ...httpOptions },
      run: async ({ args, options, terminal }) => (await import('./connections-test.ts')).testCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'login',
      help: 'use your browser to log in to a connection that has oauth2_authorization_code; runs then renew the tokens themselves',
      examples: ['automate connections login crm', 'automate connections login crm --no-browser'],
      args: { name },
      options: {
        browser: negated('--no-browser', 'print the address to open, instead of opening the browser'),
        flow: file('--flow <file>', 'log in to a connection of this flow instead of a saved one'),
        var: varOption,
        ...httpOptions,
      },
      run: async ({ args, options, terminal }) => (await import('./connections-login.ts')).loginCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'tools',
      help: 'list the tools of an MCP connection, or explain one tool with a node to copy',
      examples: ['automate connections tools search', 'automate connections tools search find_company'],
      args: { name, tool: argument('[tool]', 'the tool to explain') },
      options: { json, ...httpOptions },
      run: async ({ args, options, terminal }) =>
        (await import('./connections-test.ts')).toolsCommand(args.name, args.tool, options, terminal),
    }),
    subcommand({
      name: 'remove',
      help: 'remove a saved connection and the tokens of its login',
      examples: ['automate connections remove crm'],
      args: { name },
      run: async ({ args, terminal }) => (await import('./connections-command.ts')).removeCommand(args.name, terminal),
    }),
  ],
};

import { readConnections, type SavedConnections } from '../../credentials/connections-file.ts';
import { connectionText } from '../../flow/connections.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { findSaved } from '../../run/flow-folder.ts';
import { noteInAudit } from '../keys/stored-keys.ts';
import { argument, type CommandCode, negated, subcommand } from '../options.ts';
import { file, httpOptions, json, varOption } from '../shared-options.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import { addOptions, pathOption } from './connections-auth.ts';

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
      run: async ({ args, options, terminal }) => (await import('./connections-add.ts')).addCommand(args, options, terminal),
    }),
    subcommand({
      name: 'list',
      help: 'list the saved connections',
      examples: ['automate connections list', 'automate connections list --json'],
      args: { name: argument('[name]', 'list only this connection', { listedBy: 'connections' }) },
      options: { json },
      run: ({ args, options, terminal }) => listConnections(args.name, options, terminal),
    }),
    subcommand({
      name: 'show',
      help: 'show a connection as YAML for a flow',
      examples: ['automate connections show crm'],
      args: { name },
      options: { json },
      run: ({ args, options, terminal }) => showConnection(args.name, options, terminal),
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
      run: ({ args, terminal }) => removeCommand(args.name, terminal),
    }),
  ],
};

async function listConnections(name: string | undefined, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const saved = readConnections(process.env);
  const names = name === undefined ? Object.keys(saved).sort() : findSaved(name) && [name];
  if (options.json)
    await terminal.print(
      JSON.stringify(
        names.map((name) => ({ name, ...saved[name] })),
        null,
        2,
      ),
    );
  else if (names.length > 0) await terminal.print(tableText(connectionRows(names, saved)).join('\n'));
  else terminal.say('no connections are saved; save one: automate connections add http NAME --base-url URL, or add mcp NAME --url URL');
  return exitCodes.success;
}

function connectionRows(names: readonly string[], saved: SavedConnections): string[][] {
  const text = (value: unknown) => (value === undefined ? '-' : Array.isArray(value) ? value.join(' ') : String(value));
  const where = names.some((name) => saved[name]?.type === 'mcp') ? 'URL or command' : 'base URL';
  return [
    ['name', 'type', where, 'auth', 'credential', 'rate'],
    ...names.map((name) => {
      const { type, base_url, url, command, auth, rate } = saved[name] ?? {};
      const { type: kind, credential } = (auth ?? {}) as Record<string, unknown>;
      return [name, text(type), text(base_url ?? url ?? command), text(kind ?? 'none'), text(credential), text(rate)];
    }),
  ];
}

/** Prints YAML that can be pasted into a flow. */
async function showConnection(name: string, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const written = findSaved(name);
  await terminal.print(options.json ? JSON.stringify({ name, ...written }, null, 2) : connectionText(name, written));
  return exitCodes.success;
}

async function removeCommand(name: string, terminal: Terminal): Promise<number> {
  findSaved(name);
  const { removeConnection } = await import('../../connections/connection-test.ts');
  const kept = await removeConnection(name, terminal);
  noteInAudit('connection.remove', name, terminal);
  terminal.say(
    `"${name}" is removed${kept.map((login) => `; the login "${login}" is kept, because another saved connection uses it`).join('')}`,
  );
  return exitCodes.success;
}

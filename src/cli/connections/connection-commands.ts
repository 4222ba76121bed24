import type { Command } from 'commander';
import { AutomateError } from '../../core/failure.ts';
import { headerArgument, listArgument, wholeNumber } from '../arguments.ts';
import type { Terminal } from '../terminal.ts';

/** Adds `automate connections` and its commands. What they do is loaded when they are called. */
export function addConnectionCommands(program: Command, terminal: Terminal, exit: (code: number) => void): void {
  const connections = program
    .command('connections')
    .description('save named endpoints for flows to use: where they are and how to sign, no secrets');
  const commands = () => import('./connections.ts');

  connections
    .command('add')
    .description('save a connection; at a terminal you are asked for what is missing')
    .argument('[type]', 'http or mcp')
    .argument('[name]', 'what flows call it')
    .option('--base-url <url>', 'where relative URLs start')
    .option('--url <url>', 'for mcp: where the server is (Streamable HTTP, or SSE)')
    .option('--command <line>', 'for mcp: starts the server here, and speaks with it over stdio')
    .option('--pass-env <name>', 'for --command: a variable that the server sees; may be given again', listArgument)
    .option(
      '--pass-credential <variable=credential>',
      'for --command: a variable that holds the secret of a credential; may be given again',
      passCredential,
    )
    .option('--auth <type>', 'none, bearer, api_key, basic, oauth2_client_credentials or, for mcp, oauth2_authorization_code')
    .option('--credential <name>', 'the name of the credential that holds the secret')
    .option('--header <name>', 'for api_key: the header that carries the key')
    .option('--query <name>', 'for api_key: the query parameter that carries the key')
    .option('--username <name>', 'for basic; without it the secret is username:password')
    .option('--token-url <url>', 'for oauth2_client_credentials: where tokens come from')
    .option('--client-id <id>', 'for oauth2_client_credentials, and oauth2_authorization_code where the server registers no clients')
    .option('--client-credential <name>', "for oauth2_authorization_code: the credential with the client's own secret, where it has one")
    .option('--scopes <scopes>', 'for oauth2_client_credentials and oauth2_authorization_code, such as read,write', listArgument)
    .option(
      '--set-header <header>',
      "a header for every request, such as 'Accept: application/json'; may be given again",
      unshownHeader,
      [],
    )
    .option('--rate <rate>', 'at most so many requests in a time, such as 10/s')
    .option('--concurrency <n>', 'requests in flight at once', wholeNumber(1))
    .option('--start-timeout <duration>', 'for mcp: how long the server may take until it can be called, such as 60s')
    .option('--no-test', 'for mcp: save it without speaking with the server first')
    .option('--env <name>', 'for the test: whose credentials, such as staging (default: AUTOMATE_ENV, else default); not --pass-env')
    .option('--cacert <file>', 'for the test: trust these certificate authorities (PEM) besides the usual ones')
    .option('--allow-http', 'allow an http:// URL to another machine')
    .option('--force', 'replace the connection of that name')
    .action(async (type, name, options) => exit(await (await import('./connections-add.ts')).addCommand(type, name, options, terminal)));

  connections
    .command('list')
    .description('list the saved connections')
    .argument('[name]', 'only this one')
    .option('--json', 'print JSON')
    .action(async (name, options) => exit(await (await commands()).listCommand(name, options, terminal)));

  connections
    .command('show')
    .description('show a connection, as a flow would write it')
    .argument('<name>', "the connection's name")
    .option('--json', 'print JSON')
    .action(async (name, options) => exit(await (await commands()).showCommand(name, options, terminal)));

  connections
    .command('test')
    .description('http: send one GET request, which costs a credit; mcp: speak with the server, and log in where it asks for that')
    .argument('<name>', "the connection's name")
    .option('--path <path>', 'behind the base URL', '')
    .option('--env <name>', 'whose credentials, such as staging (default: AUTOMATE_ENV, else default)')
    .option('--allow-http', 'allow http:// URLs to other machines')
    .option('--cacert <file>', 'trust these certificate authorities (PEM) besides the usual ones')
    .action(async (name, options) => exit(await (await commands()).testCommand(name, options, terminal)));

  connections
    .command('tools')
    .description('list the tools of an MCP connection, or explain one, with a node to paste')
    .argument('<name>', "the connection's name")
    .argument('[tool]', 'only this one')
    .option('--json', 'print JSON')
    .option('--env <name>', 'whose credentials, such as staging (default: AUTOMATE_ENV, else default)')
    .option('--allow-http', 'allow http:// URLs to other machines')
    .option('--cacert <file>', 'trust these certificate authorities (PEM) besides the usual ones')
    .action(async (name, tool, options) =>
      exit(await (await import('./connections-tools.ts')).toolsCommand(name, tool, options, terminal)),
    );

  connections
    .command('remove')
    .description('remove a saved connection')
    .argument('<name>', "the connection's name")
    .action(async (name) => exit(await (await commands()).removeCommand(name, terminal)));
}

/** `VARIABLE=credential`, gathered. What stands behind the sign may be the secret itself, and is not shown. */
function passCredential(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, variable, credential] = /^([A-Za-z_][A-Za-z0-9_]*)=(.+)$/.exec(text) ?? [];
  if (variable && credential) return [...before, [variable, credential]];
  throw new AutomateError('usage', '--pass-credential: expected VARIABLE=CREDENTIAL, such as API_KEY=search-key');
}

/** One that is not understood may hold a secret, and commander would show it. */
function unshownHeader(text: string, before: readonly [string, string][]): [string, string][] {
  try {
    return headerArgument(text, before);
  } catch (error) {
    throw new AutomateError('usage', `--set-header: ${(error as Error).message}`);
  }
}

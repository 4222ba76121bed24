import type { Command } from 'commander';
import { AutomateError } from '../core/failure.ts';
import { headerArgument, listArgument, wholeNumber } from './arguments.ts';
import type { Terminal } from './terminal.ts';

/** Adds `automate connections` and its commands. What they do is loaded when they are called. */
export function addConnectionCommands(program: Command, terminal: Terminal, exit: (code: number) => void): void {
  const connections = program
    .command('connections')
    .description('save named endpoints for flows to use: where they are and how to sign, no secrets');
  const commands = () => import('./commands/connections.ts');

  connections
    .command('add')
    .description('save a connection; at a terminal you are asked for what is missing')
    .argument('[type]', 'http')
    .argument('[name]', 'what flows call it')
    .option('--base-url <url>', 'where relative URLs start')
    .option('--auth <type>', 'none, bearer, api_key, basic or oauth2_client_credentials')
    .option('--credential <name>', 'the name of the credential that holds the secret')
    .option('--header <name>', 'for api_key: the header that carries the key')
    .option('--query <name>', 'for api_key: the query parameter that carries the key')
    .option('--username <name>', 'for basic; without it the secret is username:password')
    .option('--token-url <url>', 'for oauth2_client_credentials: where tokens come from')
    .option('--client-id <id>', 'for oauth2_client_credentials')
    .option('--scopes <scopes>', 'for oauth2_client_credentials, such as read,write', listArgument)
    .option(
      '--set-header <header>',
      "a header for every request, such as 'Accept: application/json'; may be given again",
      unshownHeader,
      [],
    )
    .option('--rate <rate>', 'at most so many requests in a time, such as 10/s')
    .option('--concurrency <n>', 'requests in flight at once', wholeNumber(1))
    .option('--allow-http', 'allow an http:// URL to another machine')
    .option('--force', 'replace the connection of that name')
    .action(async (type, name, options) =>
      exit(await (await import('./commands/connections-add.ts')).addCommand(type, name, options, terminal)),
    );

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
    .description('send one GET request over a connection; costs a credit')
    .argument('<name>', "the connection's name")
    .option('--path <path>', 'behind the base URL', '')
    .option('--env <name>', 'whose credentials, such as staging (default: AUTOMATE_ENV, else default)')
    .option('--allow-http', 'allow http:// URLs to other machines')
    .option('--cacert <file>', 'trust these certificate authorities (PEM) besides the usual ones')
    .action(async (name, options) => exit(await (await commands()).testCommand(name, options, terminal)));

  connections
    .command('remove')
    .description('remove a saved connection')
    .argument('<name>', "the connection's name")
    .action(async (name) => exit(await (await commands()).removeCommand(name, terminal)));
}

/** One that is not understood may hold a secret, and commander would show it. */
function unshownHeader(text: string, before: readonly [string, string][]): [string, string][] {
  try {
    return headerArgument(text, before);
  } catch (error) {
    throw new AutomateError('usage', `--set-header: ${(error as Error).message}`);
  }
}

import { InvalidArgumentError } from 'commander';
import { byteCount } from '../../core/text/byte-size.ts';
import { duration, listArgument, wholeNumber } from '../arguments.ts';
import { argument, defaultsTo, flag, grouped, negated, parsedOption, textOption } from '../options.ts';
import { cacertOption, envOption, file } from '../shared-options.ts';

/** The folder of the flows. */
export const servedFolder = argument('[dir]', 'the folder of the flows', { default: '.' });

function parsePort(text: string): number {
  const number = wholeNumber(0)(text);
  if (number <= 65_535) return number;
  throw new InvalidArgumentError(`expected a port from 0 to 65535, found "${text}"`);
}

function parseSize(text: string): number {
  const bytes = byteCount(text);
  if (bytes !== undefined) return bytes;
  throw new InvalidArgumentError(`expected a size such as 1GB, found "${text}"`);
}

function logForm(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError(`expected text or json, found "${text}"`);
}

/** The options of `automate serve`. */
export const serveOptions = {
  ...grouped('Address', {
    host: defaultsTo('127.0.0.1', textOption('--host <host>', 'the address to listen at')),
    port: defaultsTo(4020, parsedOption('--port <n>', parsePort, 'the port to listen at; 0 for any free one')),
    tlsCert: file('--tls-cert <file>', 'the certificate of the server (PEM)'),
    tlsKey: file('--tls-key <file>', 'the private key of the certificate (PEM)'),
    behindProxy: flag('--behind-proxy', 'a proxy encrypts: believe its X-Forwarded-For and -Proto'),
    allowHost: defaultsTo(
      [],
      parsedOption('--allow-host <name>', listArgument, 'a name that clients use; may be repeated', { isRepeatable: true }),
      'none',
    ),
  }),
  ...grouped('Limits', {
    maxRuns: defaultsTo(4, parsedOption('--max-runs <n>', wholeNumber(1), 'at most N runs at once')),
    maxQueue: defaultsTo(100, parsedOption('--max-queue <n>', wholeNumber(0), 'at most N waiting runs')),
    maxUpload: defaultsTo(1e9, parsedOption('--max-upload <size>', parseSize, 'the largest body'), '1GB'),
    maxDisk: defaultsTo(10e9, parsedOption('--max-disk <size>', parseSize, 'the space of all runs on disk'), '10GB'),
    keep: defaultsTo(30 * 86_400_000, parsedOption('--keep <duration>', duration, 'delete ended runs after this time'), '30d'),
    grace: defaultsTo(30_000, parsedOption('--grace <duration>', duration, 'time to end after a signal'), '30s'),
  }),
  ...grouped('Page', {
    edit: flag('--edit', 'let the page save maps into the flows'),
    ui: negated('--no-ui', 'serve no page'),
    open: flag('--open', 'open the page in the browser'),
  }),
  ...grouped('Running', {
    resume: negated('--no-resume', 'let runs that a crash has cut off wait for a person'),
    mcp: negated('--no-mcp', 'offer no MCP tools at /mcp'),
    log: defaultsTo(
      'text' as const,
      parsedOption('--log <form>', logForm, 'the form of the log: text or json', { choices: async () => ['text', 'json'] }),
    ),
    env: envOption(),
    allowHttp: flag('--allow-http', 'allow http:// URLs to other machines'),
    cacert: cacertOption(),
    files: file('--files <dir>', 'let flows send and save files below this folder (default: none may)'),
  }),
};

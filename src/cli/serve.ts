import { InvalidArgumentError } from 'commander';
import { byteCount } from '../core/text/number.ts';
import { duration, listArgument, wholeNumber } from './arguments.ts';
import {
  argument,
  type CommandCode,
  command,
  defaultsTo,
  flag,
  grouped,
  negated,
  parsedOption,
  subcommand,
  textOption,
} from './options.ts';
import { refuseWorkerConflicts } from './run/run-options.ts';
import { cacertOption, envOption, file, runOption } from './shared-options.ts';

export const servedFolder = argument('[dir]', 'the folder with the flows', { default: '.' });

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

const serveOptions = {
  ...grouped('Address', {
    host: defaultsTo('127.0.0.1', textOption('--host <host>', 'the address to listen on')),
    port: defaultsTo(4020, parsedOption('--port <n>', parsePort, 'the port to listen on; 0 for any free port')),
    tlsCert: file('--tls-cert <file>', "the server's certificate, a PEM file"),
    tlsKey: file('--tls-key <file>', 'the private key of the certificate, a PEM file'),
    behindProxy: flag(
      '--behind-proxy',
      'trust X-Forwarded-For and X-Forwarded-Proto from a proxy, which must encrypt connections to clients',
    ),
    allowHost: defaultsTo(
      [],
      parsedOption('--allow-host <name>', listArgument, 'a host name that clients use for the server; can be repeated', {
        isRepeatable: true,
      }),
      'none',
    ),
  }),
  ...grouped('Limits', {
    maxRuns: defaultsTo(4, parsedOption('--max-runs <n>', wholeNumber(1), 'how many runs can be active at the same time')),
    maxQueue: defaultsTo(100, parsedOption('--max-queue <n>', wholeNumber(0), 'how many more runs can wait')),
    maxUpload: defaultsTo(1e9, parsedOption('--max-upload <size>', parseSize, 'the largest request body'), '1GB'),
    maxDisk: defaultsTo(10e9, parsedOption('--max-disk <size>', parseSize, 'the disk space that all runs together can use'), '10GB'),
    keep: defaultsTo(30 * 86_400_000, parsedOption('--keep <duration>', duration, 'how long a finished run is kept'), '30d'),
    grace: defaultsTo(
      30_000,
      parsedOption('--grace <duration>', duration, 'how long to wait for open requests when the server is stopped'),
      '30s',
    ),
  }),
  ...grouped('Workers', {
    workers: runOption('workers', 'process the records of all runs in N processes; auto uses one fewer than the number of cores'),
    queue: runOption('queue'),
    queueName: runOption('queueName'),
  }),
  ...grouped('Page', {
    edit: flag('--edit', 'allow the page to save maps into the flow files'),
    ui: negated('--no-ui', 'do not serve the page'),
    open: flag('--open', 'open the page in your browser'),
  }),
  ...grouped('Running', {
    resume: negated('--no-resume', 'do not resume runs that a crash interrupted'),
    mcp: negated('--no-mcp', 'do not offer the flows as MCP tools at /mcp'),
    log: defaultsTo(
      'text' as const,
      parsedOption('--log <form>', logForm, 'the log format: text or json', { choices: async () => ['text', 'json'] }),
    ),
    metrics: runOption('metrics'),
    env: envOption(),
    allowHttp: runOption('allowHttp'),
    cacert: cacertOption(),
    files: file('--files <dir>', 'folder below which flows can send and save files (default: none)'),
  }),
};

export const serve: CommandCode = {
  ...command({
    examples: [
      'automate serve flows',
      'automate serve flows --port 0 --open',
      'automate serve flows --workers 4',
      'automate serve flows --queue redis://redis:6379',
      'automate serve flows --metrics 9464',
      'automate serve flows --max-disk 50GB --keep 7d --log json',
      'automate serve flows --host :: --behind-proxy --allow-host flows.example.com',
    ],
    args: { dir: servedFolder },
    tooManyArguments: 'expected one folder with flows, as in: automate serve flows',
    options: serveOptions,
    run: async ({ args, options, terminal }) => {
      refuseWorkerConflicts(options);
      return (await import('../serve/serve.ts')).serveCommand(args.dir ?? '.', options, terminal);
    },
  }),
  commands: [
    subcommand({
      name: 'login',
      help: 'print a new link to log in to the page of your running server',
      examples: ['automate serve login'],
      run: async ({ terminal }): Promise<undefined> => {
        await terminal.print((await import('../serve/store/links.ts')).loginLink());
      },
    }),
  ],
};

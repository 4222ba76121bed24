import { wholeNumber } from './arguments.ts';
import { connections } from './connections/connection-commands.ts';
import { credentials } from './credentials/credential-commands.ts';
import { doctorOptions } from './doctor/doctor-options.ts';
import { initOptions, nodesOptions, schemaOptions, validateOptions } from './flow/flow-options.ts';
import { geocodeOptions } from './geocode/geocode-options.ts';
import { keys } from './keys/key-commands.ts';
import { mcpOptions } from './mcp/mcp-options.ts';
import { argument, type CommandSpec, command, flag, parsedOption } from './options.ts';
import { places } from './places/places-commands.ts';
import { retriedOutput, retryOptions } from './retry/retry-options.ts';
import { runOptions } from './run/run-options.ts';
import { servedFolder, serveOptions } from './serve/serve-options.ts';
import { flow, json } from './shared-options.ts';
import { testRequestOptions } from './test-request/test-request-options.ts';
import { webhooks } from './webhooks/webhook-commands.ts';
import { statusOptions, workerOptions } from './workers/worker-options.ts';

const exitCodesHelp = `
Exit codes: 0 every record succeeded, 1 a bug, 2 usage, 3 the flow is not valid,
4 some records failed, 5 stopped early by a limit, 6 the input cannot be read,
7 a credential or connection is missing or refused, 73 the output exists or is
locked, 74 it cannot be written, 129, 130, 143 interrupted, 141 stdout closed.
Proxies: HTTP_PROXY, HTTPS_PROXY and NO_PROXY.`;

const run = command({
  name: 'run',
  help: 'run a flow over the records of a file',
  examples: [
    'automate run flow.yaml --in rows.csv --out out.csv',
    'automate run flow.yaml -i rows.csv -o out.csv --limit 10 --verbose',
    'cat rows.ndjson | automate run flow.yaml | jq .name',
    'automate run flow.yaml -i rows.csv -o out.csv --replace --quiet',
    'automate run flow.yaml -i rows.csv -o out.csv --update --max-age 30d',
    'automate run flow.yaml -i export.json --records data.items -o out.csv',
    'automate run flow.yaml -i january.csv -i february.csv -o out.csv',
    'automate run flow.yaml -i rows.csv -o out.csv --files documents',
    'automate run flow.yaml -i rows.csv -o out.csv --workers 4',
    'automate run flow.yaml -i rows.csv -o out.csv --concurrency auto',
  ],
  args: { flow },
  tooManyArguments:
    'too many arguments: expected one flow; name each input with an --in of its own, as in: --in a.csv --in b.csv\n(automate run --help tells more)',
  options: runOptions,
  footer: exitCodesHelp,
  run: async ({ args, options, written, terminal }) =>
    (await import('./run/run.ts')).runCommand({ flow: args.flow, options, written }, terminal),
});

const retry = command({
  name: 'retry',
  help: 'run the failed records of an output again, and put their rows into it',
  examples: ['automate retry out.csv', 'automate retry out.csv --resume'],
  args: { out: retriedOutput },
  options: retryOptions,
  run: async ({ args, options, written, terminal }) =>
    (await import('./retry/retry.ts')).retryCommand({ out: args.out, options, written }, terminal),
});

const testRequest = command({
  name: 'test-request',
  help: 'send one request of a flow, and show the paths in its answer',
  examples: [
    'automate test-request flow.yaml --in rows.csv',
    'automate test-request flow.yaml --in rows.csv --write data.name,data.email',
    'automate test-request flow.yaml --set id=17 --curl | sh',
    'automate test-request flow.yaml --in rows.csv --files documents',
  ],
  args: { flow },
  options: testRequestOptions,
  run: async ({ args, options, terminal }) =>
    (await import('./test-request/test-request.ts')).testRequestCommand(args.flow, options, terminal),
});

const validate = command({
  name: 'validate',
  help: 'check a flow and show every problem with its position',
  examples: ['automate validate flow.yaml --in rows.csv', 'automate validate flow.yaml --offline'],
  args: { flow },
  options: validateOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/validate.ts')).validateCommand(args.flow, options, terminal),
});

const doctor = command({
  name: 'doctor',
  help: 'check this machine, and the credentials and hosts of a flow; sends nothing',
  examples: ['automate doctor', 'automate doctor flow.yaml'],
  args: { flow: argument('[flow]', 'a flow file (YAML) to check as well') },
  options: doctorOptions,
  run: async ({ args, options, terminal }) => (await import('./doctor/doctor.ts')).doctorCommand(args.flow, options, terminal),
});

const init = command({
  name: 'init',
  help: 'write a first flow: flow.yaml',
  examples: [
    'automate init --in rows.csv',
    "automate init crm --from-curl 'curl https://api.example.com/users/17'",
    'automate init pets --from-openapi openapi.yaml --operation getPetById',
    'automate init crm --schema flow.schema.json',
  ],
  args: { dir: argument('[dir]', 'folder of the flow; created if it does not exist', { default: '.' }) },
  options: initOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/init.ts')).initCommand(args.dir ?? '.', options, terminal),
});

const nodes = command({
  name: 'nodes',
  help: 'list the node types and the tools of the saved MCP connections, or explain a type',
  examples: ['automate nodes', 'automate nodes http'],
  args: {
    type: argument('[type]', 'a node type', {
      choices: async () => (await import('../nodes/index.ts')).nodeTypes.map(({ name }) => name),
    }),
  },
  options: nodesOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/nodes.ts')).nodesCommand(args.type, options, terminal),
});

const schema = command({
  name: 'schema',
  help: 'print the JSON Schema of the flow file, for editors',
  examples: ['automate schema --out flow.schema.json'],
  options: schemaOptions,
  run: async ({ options, terminal }) => (await import('./flow/nodes.ts')).schemaCommand(options, terminal),
});

const completion = command({
  name: 'completion',
  help: 'print the completion script of a shell',
  examples: ['eval "$(automate completion bash)"'],
  args: { shell: argument('<shell>', 'bash, zsh or fish', { choices: async () => ['bash', 'zsh', 'fish'] }) },
  run: async ({ args, terminal }) => (await import('./completion.ts')).completionCommand(args.shell, commands, terminal),
});

const demo = command({
  name: 'demo',
  help: 'run an example flow over real records and a small API on this machine',
  examples: ['automate demo', 'automate demo --serve'],
  options: {
    serve: flag('--serve', 'only start the API, for the flows in examples/'),
    port: parsedOption('--port <n>', wholeNumber(0), 'port of the API (default: 4010 with --serve, else any free port)'),
  },
  run: async ({ options, terminal }) => (await import('./demo.ts')).demoCommand(options, terminal),
});

const serve: CommandSpec = {
  ...command({
    name: 'serve',
    help: 'serve the flows of a folder over HTTP, with API keys and a page',
    examples: ['automate serve flows', 'automate serve flows --port 0 --open'],
    args: { dir: servedFolder },
    tooManyArguments: 'expected one folder with flows, as in: automate serve flows',
    options: serveOptions,
    run: async ({ args, options, terminal }) => (await import('../serve/serve.ts')).serveCommand(args.dir ?? '.', options, terminal),
  }),
  commands: [
    command({
      name: 'login',
      help: 'print a new link to the page of the server that runs on this home',
      examples: ['automate serve login'],
      run: async ({ terminal }) => (await import('./serve/login.ts')).loginCommand(terminal),
    }),
  ],
};

const mcp = command({
  name: 'mcp',
  help: 'offer the flows of a folder as MCP tools for AI agents, over stdin and stdout',
  examples: ['automate mcp flows', 'automate mcp flows --print-config', 'automate mcp flows --var region=eu'],
  args: { dir: servedFolder },
  tooManyArguments: 'expected one folder with flows, as in: automate mcp flows',
  options: mcpOptions,
  run: async ({ args, options, terminal }) => (await import('./mcp/mcp.ts')).mcpCommand(args.dir ?? '.', options, terminal),
});

const geocode = command({
  name: 'geocode',
  help: 'find the place that an address names, or the one nearest to a point (costs a credit)',
  examples: ['automate geocode "Paris, TX"', 'automate geocode --point 48.8584,2.2945'],
  args: { address: argument('[address]', 'an address, a place, a region or a country') },
  options: geocodeOptions,
  run: async ({ args, options, terminal }) => (await import('./geocode/geocode.ts')).geocodeCommand(args.address, options, terminal),
});

const notices = command({
  name: 'notices',
  help: 'print the sources of embedded and looked-up data, with their dates and licences',
  examples: ['automate notices'],
  run: async ({ terminal }) => (await import('./notices/notices.ts')).noticesCommand(terminal),
});

const cacheCommands = () => import('./cache/cache.ts');

const cache: CommandSpec = {
  name: 'cache',
  help: 'show or delete the answers that nodes with `cache` have cached on disk',
  commands: [
    command({
      name: 'info',
      help: 'show the size, age and place of the cache, and its maximum',
      examples: ['automate cache info'],
      options: { json },
      run: async ({ options, terminal }) => (await cacheCommands()).infoCommand(options, terminal),
    }),
    command({
      name: 'clear',
      help: 'delete all cached answers',
      examples: ['automate cache clear'],
      run: async ({ terminal }) => (await cacheCommands()).clearCommand(terminal),
    }),
  ],
};

const creditsCommands = () => import('./credits/credits.ts');

const credits: CommandSpec = {
  ...command({
    name: 'credits',
    help: "show this month's credits by flow, node and connection, and the allowance (one action costs one credit)",
    examples: ['automate credits'],
    options: { json },
    run: async ({ options, terminal }) => (await creditsCommands()).creditsCommand(options, terminal),
  }),
  commands: [
    command({
      name: 'limit',
      help: 'set the monthly allowance, which all runs share',
      examples: ['automate credits limit 10000', 'automate credits limit unlimited'],
      args: { limit: argument('<n>', 'a number of credits, or unlimited') },
      run: async ({ args, terminal }) => (await creditsCommands()).limitCommand(args.limit, terminal),
    }),
    command({
      name: 'history',
      help: 'show the credits of each month',
      examples: ['automate credits history'],
      options: { json },
      run: async ({ options, terminal }) => (await creditsCommands()).historyCommand(options, terminal),
    }),
    command({
      name: 'export',
      help: 'print credits by month, flow, node, connection, environment and, once a key has paid, key',
      examples: ['automate credits export > credits.csv'],
      options: { csv: flag('--csv', 'print CSV, which is the default'), json },
      run: async ({ options, terminal }) => (await creditsCommands()).exportCommand(options, terminal),
    }),
  ],
};

const worker = command({
  name: 'worker',
  help: 'pass records of runs that were started with --queue, on this machine',
  examples: ['automate worker --queue redis://redis:6379', 'automate worker --queue redis://localhost --exit-when-idle 60s'],
  args: {},
  options: workerOptions,
  run: async ({ options, terminal }) => (await import('./workers/worker.ts')).workerCommand(options, terminal),
});

const status = command({
  name: 'status',
  help: 'show the runs and the workers of a queue',
  examples: ['automate status --queue redis://redis:6379', 'automate status --queue redis://redis:6379 --json'],
  args: {},
  options: statusOptions,
  run: async ({ options, terminal }) => (await import('./workers/status.ts')).statusCommand(options, terminal),
});

/** The commands, in the order of the help. */
export const commands: readonly CommandSpec[] = [
  run,
  retry,
  testRequest,
  validate,
  init,
  doctor,
  nodes,
  schema,
  completion,
  demo,
  serve,
  worker,
  status,
  mcp,
  places,
  credentials,
  connections,
  cache,
  credits,
  keys,
  webhooks,
  geocode,
  notices,
];

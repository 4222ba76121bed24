import { wholeNumber } from './arguments.ts';
import { connections } from './connections/connection-commands.ts';
import { credentials } from './credentials/credential-commands.ts';
import { doctorOptions } from './doctor/doctor-options.ts';
import { initOptions, nodesOptions, schemaKinds, schemaOptions, validateOptions } from './flow/flow-options.ts';
import { geocodeOptions } from './geocode/geocode-options.ts';
import { keys } from './keys/key-commands.ts';
import { mcpOptions } from './mcp/mcp-options.ts';
import { argument, argumentList, type CommandSpec, command, flag, parsedOption } from './options.ts';
import { places } from './places/places-commands.ts';
import { retriedOutput, retryOptions } from './retry/retry-options.ts';
import { runOptions } from './run/run-options.ts';
import { refuseWorkerConflicts } from './run/worker-conflicts.ts';
import { servedFolder, serveOptions } from './serve/serve-options.ts';
import { flow, json } from './shared-options.ts';
import { testExitCodes, testOptions } from './test/test-options.ts';
import { testRequestOptions } from './test-request/test-request-options.ts';
import { webhooks } from './webhooks/webhook-commands.ts';
import { statusOptions, workerOptions } from './workers/worker-options.ts';

const exitCodesHelp = `
Exit codes:
  0    every record succeeded
  1    a bug, or an unexpected failure
  2    the command line is wrong
  3    the flow is not valid
  4    finished, but some records failed
  5    stopped early, such as by a limit; --resume continues
  6    the input cannot be read, or has changed while it was read
  7    a credential or connection is missing or refused
  73   the output exists or is in use, or a port is in use
  74   the output cannot be written
  129, 130, 143   interrupted by a signal; --resume continues
  141  stdout was closed

Requests use a proxy if HTTP_PROXY or HTTPS_PROXY is set. NO_PROXY lists the
hosts that are requested without it.`;

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
    'automate run flow.yaml -i rows.csv -o out.csv --queue redis://redis:6379',
    'automate run flow.yaml -i rows.csv -o out.csv --concurrency auto',
    'automate run flow.yaml -i rows.csv -o out.csv --metrics 9464',
  ],
  args: { flow },
  tooManyArguments:
    'too many arguments: expected one flow\nwrite --in before each input file, for example: --in a.csv --in b.csv\n(see automate run --help)',
  options: runOptions,
  footer: exitCodesHelp,
  run: async ({ args, options, written, terminal }) =>
    (await import('./run/run.ts')).runCommand({ flow: args.flow, options, written }, terminal),
});

const retry = command({
  name: 'retry',
  help: 'run the failed records of an earlier run again, and insert their rows into its output',
  examples: [
    'automate retry out.csv',
    'automate retry out.csv --errors corrected.csv',
    'automate retry out.csv --resume',
    'automate retry out.csv --metrics 9464',
  ],
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
    'automate test-request flow.yaml -i rows.csv --record 3 --save-test "a user"',
  ],
  args: { flow },
  options: testRequestOptions,
  run: async ({ args, options, terminal }) =>
    (await import('./test-request/test-request.ts')).testRequestCommand(args.flow, options, terminal),
});

const test = command({
  name: 'test',
  help: 'run the tests of flows (files that end in .test.yaml) without sending a request',
  examples: ['automate test', 'automate test enrich.test.yaml --only unknown', 'automate test flows --junit report.xml'],
  args: { paths: argumentList('[paths...]', 'test files, or folders that contain some (default: the current folder)') },
  options: testOptions,
  footer: testExitCodes,
  run: async ({ args, options, terminal }) => (await import('./test/test.ts')).testCommand(args.paths, options, terminal),
});

const validate = command({
  name: 'validate',
  help: 'check a flow, and show the line and column of every problem',
  examples: ['automate validate flow.yaml --in rows.csv', 'automate validate flow.yaml --offline'],
  args: { flow },
  options: validateOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/validate.ts')).validateCommand(args.flow, options, terminal),
});

const doctor = command({
  name: 'doctor',
  help: 'check this machine, and the credentials and hosts of a flow, without sending a request',
  examples: ['automate doctor', 'automate doctor flow.yaml', 'automate doctor flow.yaml --env staging'],
  args: { flow: argument('[flow]', 'the flow file (YAML) whose credentials and hosts are checked') },
  options: doctorOptions,
  run: async ({ args, options, terminal }) => (await import('./doctor/doctor.ts')).doctorCommand(args.flow, options, terminal),
});

const init = command({
  name: 'init',
  help: 'write a first flow, flow.yaml, into a folder',
  examples: [
    'automate init --in rows.csv',
    "automate init crm --from-curl 'curl https://api.example.com/users/17'",
    'automate init pets --from-openapi openapi.yaml --operation getPetById',
    'automate init crm --schema flow.schema.json',
  ],
  args: { dir: argument('[dir]', 'the folder for the flow, which is created if it does not exist', { default: '.' }) },
  options: initOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/init.ts')).initCommand(args.dir ?? '.', options, terminal),
});

const nodes = command({
  name: 'nodes',
  help: 'list the node types and the tools of saved MCP connections, or explain one type',
  examples: ['automate nodes', 'automate nodes http', 'automate nodes --refresh'],
  args: {
    type: argument('[type]', 'the node type to explain, such as http', {
      choices: async () => (await import('../run/node-types.ts')).nodeTypes.map(({ name }) => name),
    }),
  },
  options: nodesOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/nodes.ts')).nodesCommand(args.type, options, terminal),
});

const schema = command({
  name: 'schema',
  help: 'print the JSON Schema of flow files or test files, so that your editor can complete and check them',
  examples: ['automate schema', 'automate schema --out flow.schema.json', 'automate schema test --out test.schema.json'],
  args: { kind: argument('[kind]', 'flow for flow files, or test for test files', { default: 'flow', choices: async () => schemaKinds }) },
  options: schemaOptions,
  run: async ({ args, options, terminal }) => (await import('./flow/nodes.ts')).schemaCommand(args.kind ?? 'flow', options, terminal),
});

const completion = command({
  name: 'completion',
  help: 'print a script that lets your shell complete commands, options and names',
  examples: ['eval "$(automate completion bash)"', 'eval "$(automate completion zsh)"', 'automate completion fish | source'],
  args: { shell: argument('<shell>', 'your shell: bash, zsh or fish', { choices: async () => ['bash', 'zsh', 'fish'] }) },
  run: async ({ args, terminal }) => (await import('./completion.ts')).completionCommand(args.shell, commands, terminal),
});

const demo = command({
  name: 'demo',
  help: 'run an example flow over the records of 208 airports, with an API on this machine',
  examples: ['automate demo', 'automate demo --serve'],
  options: {
    serve: flag('--serve', 'only start the API, so that you can run the flows in examples/'),
    port: parsedOption('--port <n>', wholeNumber(0), 'the port of the API (default: 4010 with --serve, or any free port)'),
  },
  run: async ({ options, terminal }) => (await import('./demo/demo.ts')).demoCommand(options, terminal),
});

const serve: CommandSpec = {
  ...command({
    name: 'serve',
    help: 'serve the flows of a folder over HTTP, with API keys and a web page',
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
    command({
      name: 'login',
      help: 'print a new link to log in to the page of your running server',
      examples: ['automate serve login'],
      run: async ({ terminal }) => (await import('./serve/login.ts')).loginCommand(terminal),
    }),
  ],
};

const mcp = command({
  name: 'mcp',
  help: 'offer the flows of a folder to AI agents as MCP tools, over stdin and stdout',
  examples: ['automate mcp flows', 'automate mcp flows --print-config', 'automate mcp flows --var region=eu'],
  args: { dir: servedFolder },
  tooManyArguments: 'expected one folder with flows, as in: automate mcp flows',
  options: mcpOptions,
  run: async ({ args, options, terminal }) => (await import('./mcp/mcp.ts')).mcpCommand(args.dir ?? '.', options, terminal),
});

const geocode = command({
  name: 'geocode',
  help: 'find the coordinates of an address, or the place nearest to a point (costs one credit)',
  examples: [
    'automate geocode "Paris, TX"',
    'automate geocode --point 48.8584,2.2945',
    'automate geocode "4600 Silver Hill Rd, Washington, DC" --provider census-us',
    'automate geocode Springfield --country US --json',
  ],
  args: { address: argument('[address]', 'an address, or the name of a town, region or country') },
  options: geocodeOptions,
  run: async ({ args, options, terminal }) => (await import('./geocode/geocode.ts')).geocodeCommand(args.address, options, terminal),
});

const notices = command({
  name: 'notices',
  help: 'print the sources of the data that lookups use, with dates and licenses',
  examples: ['automate notices'],
  run: async ({ terminal }) => (await import('./notices.ts')).noticesCommand(terminal),
});

const cacheCommands = () => import('./cache.ts');

const cache: CommandSpec = {
  name: 'cache',
  help: 'show or delete the answers that are cached on disk for nodes with `cache`',
  commands: [
    command({
      name: 'info',
      help: 'show where the cache is, how large and old it is, and how large it can become',
      examples: ['automate cache info', 'automate cache info --json'],
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

const creditsCommands = () => import('./credits.ts');

const credits: CommandSpec = {
  ...command({
    name: 'credits',
    help: "show this month's credits by flow, node and connection, and the allowance (one action, such as a request, costs one credit)",
    examples: ['automate credits', 'automate credits --json', 'automate credits limit 10000'],
    options: { json },
    run: async ({ options, terminal }) => (await creditsCommands()).creditsCommand(options, terminal),
  }),
  commands: [
    command({
      name: 'limit',
      help: 'set how many credits all runs together can spend in a month',
      examples: ['automate credits limit 10000', 'automate credits limit unlimited'],
      args: { limit: argument('<n>', 'the number of credits, or unlimited') },
      run: async ({ args, terminal }) => (await creditsCommands()).limitCommand(args.limit, terminal),
    }),
    command({
      name: 'history',
      help: 'show the credits that were spent in each month',
      examples: ['automate credits history', 'automate credits history --json'],
      options: { json },
      run: async ({ options, terminal }) => (await creditsCommands()).historyCommand(options, terminal),
    }),
    command({
      name: 'export',
      help: 'print spent credits as a table, by month, flow, node, connection, environment and API key',
      examples: ['automate credits export > credits.csv', 'automate credits export --json'],
      options: { csv: flag('--csv', 'print CSV; this is the default'), json },
      run: async ({ options, terminal }) => (await creditsCommands()).exportCommand(options, terminal),
    }),
  ],
};

const worker = command({
  name: 'worker',
  help: 'process records on this machine for runs that were started with --queue',
  examples: [
    'automate worker --queue redis://redis:6379',
    'automate worker --queue redis://localhost --exit-when-idle 60s',
    'automate worker --queue redis://redis:6379 --metrics 0.0.0.0:9464',
  ],
  args: {},
  options: workerOptions,
  run: async ({ options, terminal }) => (await import('./workers/worker.ts')).workerCommand(options, terminal),
});

const status = command({
  name: 'status',
  help: 'show the runs and workers of a queue',
  examples: ['automate status --queue redis://redis:6379', 'automate status --queue redis://redis:6379 --json'],
  args: {},
  options: statusOptions,
  run: async ({ options, terminal }) => (await import('./workers/status.ts')).statusCommand(options, terminal),
});

/** The commands, in the order in which the help lists them. */
export const commands: readonly CommandSpec[] = [
  run,
  retry,
  testRequest,
  test,
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

import type { CommandCode, CommandSpec } from './options.ts';

/** A command as `automate --help` lists it. Its file is loaded only when the command is used. */
interface ListedCommand {
  readonly name: string;
  readonly usage?: string;
  readonly help: string;
  load(): Promise<CommandCode>;
}

/** The help lists them in this order. */
export const commands: readonly ListedCommand[] = [
  {
    name: 'run',
    usage: '[options] <flow>',
    help: 'run a flow over the records of a file',
    load: async () => (await import('./run/run.ts')).run,
  },
  {
    name: 'retry',
    usage: '[options] <out>',
    help: 'run the failed records of an earlier run again, and insert their rows into its output',
    load: async () => (await import('./retry.ts')).retry,
  },
  {
    name: 'notify',
    usage: '[options] <kind:credential>',
    help: 'send a test message to the address that --notify uses at the end of a run',
    load: async () => (await import('./notify.ts')).notify,
  },
  {
    name: 'test-request',
    usage: '[options] <flow>',
    help: 'send one request of a flow, and show the paths in its answer',
    load: async () => (await import('./test-request/test-request.ts')).testRequest,
  },
  {
    name: 'test',
    usage: '[options] [paths...]',
    help: 'run the tests of flows (files that end in .test.yaml) without sending a request',
    load: async () => (await import('./test.ts')).test,
  },
  {
    name: 'validate',
    usage: '[options] <flow>',
    help: 'check a flow, and show the line and column of every problem',
    load: async () => (await import('./validate.ts')).validate,
  },
  {
    name: 'init',
    usage: '[options] [dir]',
    help: 'write a first flow, flow.yaml, into a folder',
    load: async () => (await import('./init.ts')).init,
  },
  {
    name: 'doctor',
    usage: '[options] [flow]',
    help: 'check this machine, and the credentials and hosts of a flow, without sending a request',
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  {
    name: 'nodes',
    usage: '[options] [type]',
    help: 'list the node types and the tools of saved MCP connections, or explain one type',
    load: async () => (await import('./nodes.ts')).nodes,
  },
  {
    name: 'schema',
    usage: '[options] [kind]',
    help: 'print the JSON Schema of flow files or test files, so that your editor can complete and check them',
    load: async () => (await import('./nodes.ts')).schema,
  },
  {
    name: 'completion',
    usage: '<shell>',
    help: 'print a script that lets your shell complete commands, options and names',
    load: async () => (await import('./completion.ts')).completion,
  },
  {
    name: 'demo',
    usage: '[options]',
    help: 'run an example flow over the records of 208 airports, with an API on this machine',
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    name: 'serve',
    usage: '[options] [dir]',
    help: 'serve the flows of a folder over HTTP, with API keys and a web page',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'worker',
    usage: '[options]',
    help: 'process records on this machine for runs that were started with --queue',
    load: async () => (await import('./worker.ts')).worker,
  },
  {
    name: 'status',
    usage: '[options]',
    help: 'show the runs and workers of a queue',
    load: async () => (await import('./worker.ts')).status,
  },
  {
    name: 'mcp',
    usage: '[options] [dir]',
    help: 'offer the flows of a folder to AI agents as MCP tools, over stdin and stdout',
    load: async () => (await import('./mcp.ts')).mcp,
  },
  {
    name: 'skill',
    help: 'print a SKILL.md, which teaches AI agents to use automate',
    load: async () => (await import('./skill.ts')).skill,
  },
  {
    name: 'places',
    help: 'find chains and categories of places, which is free, and points of interest',
    load: async () => (await import('./places.ts')).places,
  },
  {
    name: 'credentials',
    help: 'store secrets in the keychain or in an encrypted vault, so that flows can use them by name',
    load: async () => (await import('./credentials.ts')).credentials,
  },
  {
    name: 'connections',
    help: 'save endpoints that flows can use by name: URL, authentication and limits, but not secrets',
    load: async () => (await import('./connections/connections.ts')).connections,
  },
  {
    name: 'cache',
    help: 'show or delete the answers that are cached on disk for nodes with `cache`',
    load: async () => (await import('./cache.ts')).cache,
  },
  {
    name: 'answers',
    usage: '[options] <out>',
    help: 'show or delete the answers that runs with --keep-answers have kept for an output',
    load: async () => (await import('./answers.ts')).answers,
  },
  {
    name: 'why',
    usage: '[options] <out>',
    help: 'tell how a row of an output with kept answers came about: its requests, and the path of each field',
    load: async () => (await import('./why.ts')).why,
  },
  {
    name: 'credits',
    usage: '[options]',
    help: "show this month's credits by flow, node and connection, and the allowance (one action, such as a request, costs one credit)",
    load: async () => (await import('./credits.ts')).credits,
  },
  {
    name: 'keys',
    help: 'make, list and revoke API keys, which programs need to use your server',
    load: async () => (await import('./keys/keys.ts')).keys,
  },
  {
    name: 'webhooks',
    help: 'notify other programs when a run of your server ends',
    load: async () => (await import('./webhooks.ts')).webhooks,
  },
  {
    name: 'geocode',
    usage: '[options] [address...]',
    help: 'find the coordinates of an address, or the place nearest to a point (costs one credit)',
    load: async () => (await import('./geocode.ts')).geocode,
  },
  {
    name: 'notices',
    help: 'print the sources of the data that lookups use, with dates and licenses',
    load: async () => (await import('./notices.ts')).notices,
  },
];

export async function loadCommand({ name, help, load }: ListedCommand): Promise<CommandSpec> {
  return { name, help, ...(await load()) };
}

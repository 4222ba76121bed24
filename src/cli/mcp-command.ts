import { basename, resolve } from 'node:path';
import { detailsOf } from '../core/error-code.ts';
import { AutomateError, invalidOption, usageError } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { GivenVariables } from '../core/run-options.ts';
import { counted } from '../core/text/number.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import type { JsonObject } from '../core/value/value.ts';
import { version } from '../core/version.ts';
import { Gates } from '../engine/gates.ts';
import { createClock } from '../files/clock.ts';
import { shownPath, statOf } from '../files/stat.ts';
import { FlowTools } from '../flow-tools/flow-tools.ts';
import { Routes } from '../http/routes.ts';
import { refuseNoFolder } from '../records/inputs.ts';
import { FlowCalls } from '../run/flow-calls.ts';
import { FlowFolder, type FlowList, type ServedFlow } from '../run/flow-folder.ts';
import type { SharedParts } from '../run/flow-runtime.ts';
import { reservedFlows } from '../run/reserved-paths.ts';
import { messageWithAdvice } from './advice.ts';
import { indentedJson, type Terminal } from './terminal.ts';

interface McpCommandOptions {
  readonly printConfig?: boolean;
  readonly var: GivenVariables;
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
  readonly files?: string;
}

/** The folder of flows is checked for changes at this interval. */
const lookMs = 1000;

/** Serves over stdin and stdout. With --print-config, only prints the settings with which a client starts this server. */
export async function mcpCommand(dir: string, options: McpCommandOptions, terminal: Terminal): Promise<undefined> {
  if (!statOf(dir)?.isDirectory()) throw usageError(`expected a folder with flows, found none at ${dir}`);
  refuseNoFolder(options.files);
  const unknown = new Map<string, number>();
  const flows = new FlowFolder(dir, {
    allowHttp: options.allowHttp ?? false,
    env: options.env,
    withoutFiles: options.files === undefined,
    var: options.var,
    otherVariable: (name) => unknown.set(name, (unknown.get(name) ?? 0) + 1),
  });
  const list = await flows.list();
  refuseVariables(options.var, unknown, list);
  if (options.printConfig) {
    await terminal.print(indentedJson(clientConfig(resolve(dir), options)));
    return;
  }
  greet(dir, list, terminal);
  await serveFlows(flows, sharedParts(dir, options, terminal), terminal);
}

async function serveFlows(flows: FlowFolder, shared: SharedParts, terminal: Terminal): Promise<void> {
  const sayProblems = problemSayer(terminal);
  const calls = new FlowCalls(shared, performance.now.bind(performance));
  const toolbox = new FlowTools<undefined>({
    flows,
    sees: () => true,
    run: ({ flow, fields, gone, report }) =>
      calls.run({ flow, fields, gone, report, given: [], key: undefined, waitMs: undefined, plan: async () => validPlanOf(flow) }),
    errorText: (error) => (error instanceof AutomateError ? terminal.redactor.text(messageWithAdvice(error)) : undefined),
    usedUpText: messageWithAdvice,
    say: terminal.say,
    bug: (error) => terminal.say(`automate: this is a bug, please report it: ${(error as Error).stack ?? error}`),
  });
  await toolbox.haveChanged();
  sayProblems(await flows.list());
  const { stdin, stdout } = process;
  const { serveToolsOverStdio } = await import('../flow-tools/stdio-tools.ts');
  const server = serveToolsOverStdio({ toolbox, version, stdin, stdout, say: terminal.say });
  const look = async () => {
    if (!(await toolbox.haveChanged())) return;
    server.toolsChanged();
    sayProblems(await flows.list());
  };
  const looks = setInterval(() => look().catch((error: unknown) => terminal.warn((error as Error).message)), lookMs);
  try {
    await Promise.race([server.ended, firstSignal()]);
  } finally {
    clearInterval(looks);
    calls.abort();
    await server.close();
    await calls.close();
    shared.routes.destroy();
  }
}

/** Throws an AutomateError (`usage`) for a value that a flow does not allow, and for a variable in `unknown` that no flow has. */
function refuseVariables(given: GivenVariables, unknown: ReadonlyMap<string, number>, { flows }: FlowList): void {
  const refused = flows.flatMap(({ problems }) => problems).find((problem) => detailsOf(problem, 'invalid-option'));
  if (refused) throw invalidOption('var', refused.message);
  const name = given.map(([one]) => one).find((one) => unknown.get(one) === flows.length);
  if (name !== undefined) throw invalidOption('var', `no flow has the variable "${name}"`);
}

function greet(dir: string, { flows }: FlowList, { say }: Terminal): void {
  const valid = flows.filter(({ plan }) => plan);
  say(`automate: ${counted(valid.length, 'flow')} of ${dir} as MCP tools over stdin and stdout`);
  if (process.stdin.isTTY) say(`  (AI clients start this command; for their settings: automate mcp ${shellWord(dir)} --print-config)`);
}

/** Returns a function that prints which flow files are not provided as tools, and why. Each line is printed only once. */
function problemSayer({ say }: Terminal): (list: FlowList) => void {
  const said = new Set<string>();
  return ({ flows, unserved }) => {
    const lines = [...unserved.map(({ file, reason }) => `not a tool: ${file}: ${reason}`), ...flows.flatMap(problemLines)];
    for (const line of lines) if (!said.has(line)) say(line);
    for (const line of lines) said.add(line);
  };
}

function problemLines({ path, problems }: ServedFlow): string[] {
  return problems.map((problem) => {
    const { line = 1, column = 1 } = problem;
    return `not valid: ${shownPath(path)}:${line}:${column}: ${messageWithAdvice(problem).replaceAll('\n', '\n  ')}`;
  });
}

function sharedParts(dir: string, { cacert, env, files, allowHttp = false }: McpCommandOptions, { say, warn }: Terminal): SharedParts {
  const reserved = [reservedFlows(dir)];
  const routes = new Routes({ cacert, environment: process.env, warn });
  return { gates: new Gates(createClock()), routes, allowHttp, cacert, env, files, reserved, withoutFiles: files === undefined, say };
}

/** Invalid flows are not tools, so the plan exists. */
function validPlanOf({ id, plan }: ServedFlow): Plan {
  if (plan) return plan;
  throw new Error(`${id} is not valid`);
}

function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
}

/** The paths are absolute, because clients start the server in another folder and without a shell's PATH. `dir` is absolute. */
function clientConfig(dir: string, options: McpCommandOptions): JsonObject {
  const [node, script = ''] = process.argv;
  const { AUTOMATE_HOME: home, AUTOMATE_VAULT_PASSPHRASE_FILE: passphrase, AUTOMATE_ENV: env } = process.env;
  const variables = {
    ...(home && { AUTOMATE_HOME: resolve(home) }),
    ...(passphrase && { AUTOMATE_VAULT_PASSPHRASE_FILE: resolve(passphrase) }),
    ...(env && options.env === undefined && { AUTOMATE_ENV: env }),
  };
  const server = {
    command: node ?? 'node',
    args: [script, 'mcp', dir, ...optionWords(options)],
    ...(Object.keys(variables).length > 0 && { env: variables }),
  };
  return { mcpServers: { [basename(dir) || 'flows']: server } };
}

function optionWords({ var: given, env, allowHttp, cacert, files }: McpCommandOptions): string[] {
  return [
    ...given.flatMap(([name, value]) => ['--var', `${name}=${value}`]),
    ...(env === undefined ? [] : ['--env', env]),
    ...(allowHttp ? ['--allow-http'] : []),
    ...(cacert === undefined ? [] : ['--cacert', resolve(cacert)]),
    ...(files === undefined ? [] : ['--files', resolve(files)]),
  ];
}

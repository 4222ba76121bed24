import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { AutomateError, usageError } from '../core/failure.ts';
import type { NetworkAddress } from '../core/run-options.ts';
import { counted } from '../core/text/number.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import type { Messages } from '../credentials/messages.ts';
import { homeFolder } from '../files/home.ts';
import { systemReason } from '../files/naming-errors.ts';
import { shownPath, statOf } from '../files/stat.ts';
import { startBrowser } from '../http/auth/browser.ts';
import { refuseNoFolder } from '../records/inputs.ts';
import { exitCodes, signalExitCode } from '../run/exit-codes.ts';
import { limitServerHeap } from '../run/heap-limit.ts';
import type { Metrics } from '../run/metrics.ts';
import { openRunWorkers, type RunWorkers } from '../workers/workers-of-run.ts';
import { messageForClient } from './advice.ts';
import { createApp } from './app.ts';
import { AnswersUnderWay, createLog, type EndingServer, endServer, giveUp, watchSignals } from './end-server.ts';
import { openVariables } from './flow-json.ts';
import { openServerKeys, type ServerKeys } from './keys/server-keys.ts';
import { clientAddress, Hosts, listeningAddress, refuseOpenAddress } from './listening.ts';
import { pageOptions } from './page/page-options.ts';
import { addAllRoutes } from './routes/all-routes.ts';
import { payerOf } from './runs/stored-run.ts';
import { type ServeLock, type ServeOptions, takeServeLock } from './serve-lock.ts';
import { ServedTools } from './served-tools.ts';
import { Server } from './server.ts';
import { Sessions } from './sessions.ts';
import { ServerDatabase } from './store/database.ts';
import { Links } from './store/links.ts';

/** Interval in ms at which the server reads changed API keys and writes usage counts if they are due. */
const tickMs = 500;

/** Serves the flows of a folder until a signal arrives. Returns the exit code. */
export async function serveCommand(dir: string, options: ServeOptions, messages: Messages): Promise<number> {
  refuseFolders(dir, options);
  const home = homeFolder(process.env);
  // Makes the files that the server creates readable only for their owner.
  process.umask(0o077);
  const lock = takeServeLock(home, resolve(dir));
  let metrics: Metrics | undefined;
  let workers: RunWorkers | undefined;
  try {
    metrics = options.metrics && (await openMetrics(options.metrics));
    workers = await openRunWorkers(options, messages);
    return await serveFlows(dir, options, messages, { home, lock, metrics, workers });
  } finally {
    await workers?.close();
    await metrics?.close();
    lock.release();
  }
}

async function openMetrics(address: NetworkAddress): Promise<Metrics> {
  const { Metrics } = await import('../run/metrics.ts');
  return Metrics.open(address);
}

interface OpenedServer {
  readonly home: string;
  readonly lock: ServeLock;
  readonly metrics: Metrics | undefined;
  readonly workers: RunWorkers | undefined;
}

async function serveFlows(
  dir: string,
  options: ServeOptions,
  messages: Messages,
  { home, lock, metrics, workers }: OpenedServer,
): Promise<number> {
  const database = new ServerDatabase(home);
  const keys = openServerKeys(database, { now: () => performance.now(), wallNow: Date.now }, (error) =>
    messages.warn((error as Error).message),
  );
  refuseOpenAddress(options, keys.directory.hasLiving());
  limitServerHeap();
  const server = new Server({
    database,
    keys,
    ...options,
    ...{ dir, home, limits: limitsOf(options) },
    ...{ workers, cacert: options.cacert, env: options.env, files: options.files },
    ownFiles: [options.tlsCert, options.tlsKey].filter((path) => path !== undefined),
    allowHttp: options.allowHttp ?? false,
    metrics,
    say: messages.say,
  });
  const hosts = new Hosts(options.allowHost, options.tlsCert !== undefined);
  const log = createLog(options.log, (lines) => process.stderr.write(`${messages.redactor.text(lines)}\n`));
  const state = { isStopping: false };
  const app = createApp({ hosts, tls: tlsOf(options), behindProxy: options.behindProxy ?? false, ...log });
  const answers = new AnswersUnderWay(app.server);
  const links = new Links(home);
  const sessions = {
    sessions: new Sessions(() => performance.now()),
    links,
    isTls: options.tlsCert !== undefined,
    port: () => portOf(app),
  };
  const tools = options.mcp ? new ServedTools(server) : undefined;
  await addAllRoutes(app, server, {
    mcp: tools && { tools, hosts },
    isStopping: () => state.isStopping,
    isQueueAway: () => workers?.isAway ?? false,
    ...{ home, sessions, page: options.ui ? pageOptions(dir, home, options) : undefined },
  });
  await server.runs.open(options.resume);
  await startListening(app, options);
  hosts.port = portOf(app);
  lock.serves(clientAddress(options, portOf(app)));
  server.runs.start();
  await greet({ app, server, keys, dir, options, messages, links });
  if (metrics) messages.say(`metrics: ${metrics.url}`);
  const ticks = setInterval(() => applyChanges(server, keys, tools), tickMs);
  return await untilSignal({ app, server, answers, options, messages, state }).finally(async () => {
    clearInterval(ticks);
    await tools?.close();
    log.flush();
    keys.close();
    database.close();
  });
}

function refuseFolders(dir: string, { files }: ServeOptions): void {
  if (!statOf(dir)?.isDirectory()) throw usageError(`expected a folder with flows, found none at ${dir}`);
  refuseNoFolder(files);
}

function limitsOf({ maxRuns, maxQueue, maxUpload, maxDisk, keep }: ServeOptions) {
  return { maxRuns, maxQueue, maxUpload, maxDisk, keepMs: keep };
}

function tlsOf({ tlsCert, tlsKey }: ServeOptions) {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const read = (path: string) => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw usageError(`${path} cannot be read: ${systemReason(error as Error)}`);
    }
  };
  return { cert: read(tlsCert), key: read(tlsKey) };
}

async function startListening(app: FastifyInstance, { host, port }: ServeOptions): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new AutomateError(
        'output-exists',
        `port ${port} of ${host} is in use by another process\nchoose another with --port; 0 is any free port`,
      );
    if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw usageError(`the server cannot listen on ${host}:${port}: ${systemReason(error as Error)}`);
    throw error;
  }
}

function portOf(app: FastifyInstance): number {
  return (app.server.address() as { port: number }).port;
}

interface Started {
  readonly app: FastifyInstance;
  readonly server: Server;
  readonly keys: ServerKeys;
  readonly dir: string;
  readonly options: ServeOptions;
  readonly messages: Messages;
  readonly links: Links;
}

async function greet({ app, server, keys, dir, options, messages, links }: Started): Promise<void> {
  const { flows, unserved } = await server.flows.list();
  const [listening, forClients] = [listeningAddress(options, portOf(app)), clientAddress(options, portOf(app))];
  const folder = relative('.', dir) || '.';
  messages.say(
    `serving ${counted(flows.length, 'flow')} of ${folder.startsWith('.') || folder.startsWith('/') ? folder : `./${folder}`} at ${listening}`,
  );
  if (options.ui) {
    const link = `${forClients}/login#${links.create()}`;
    messages.say(`page: ${link}\n  (valid once, for 10 minutes; automate serve login prints a new one)`);
    if (options.open) startBrowser(process.env, link);
  }
  for (const { file, reason } of unserved) messages.say(`not served: ${file}: ${reason}`);
  for (const { path, problems } of flows)
    for (const problem of problems) {
      const { line = 1, column = 1 } = problem;
      messages.say(`not valid: ${shownPath(path)}:${line}:${column}: ${messageForClient(problem).replaceAll('\n', '\n  ')}`);
    }
  if (keys.directory.hasLiving()) return;
  const valid = flows.find(({ plan }) => plan);
  const record = Object.fromEntries((valid?.plan?.neededFields() ?? []).map((field) => [field, '...']));
  messages.say('there is no API key yet; make one, and call a flow with it:');
  messages.say('  KEY=$(automate keys create first)');
  const needed = (valid?.plan ? openVariables(valid.plan) : []).filter((variable) => variable.default === null);
  const query = needed.map(({ name }, index) => `${index === 0 ? '?' : '&'}var.${name}=...`).join('');
  const address = shellWord(`${forClients}/v1/flows/${valid?.id ?? 'FLOW'}/calls${query}`);
  messages.say(`  curl ${address} -H "Authorization: Bearer $KEY" --json ${shellWord(JSON.stringify(record))}`);
}

/** Ends the event streams of keys that are no longer valid, and stops the runs of keys that were revoked with --stop-runs. */
function applyChanges(server: Server, keys: ServerKeys, tools: ServedTools | undefined): void {
  keys.tick();
  tools?.tick().catch((error: unknown) => server.shared.say((error as Error).message));
  server.deliveries.tick();
  void server.runs.deleteOld();
  const { directory } = keys;
  server.endListeners((key) => key !== '' && !directory.isLiving(key));
  const stopped = new Set(directory.stoppedKeys());
  if (stopped.size > 0) void server.runs.stopThose((run) => [run.key, payerOf(run)].some((key) => key !== null && stopped.has(key.id)));
}

interface Serving extends EndingServer {
  readonly options: ServeOptions;
  readonly messages: Messages;
  readonly state: { isStopping: boolean };
}

/** Serves until a signal arrives, then lets work in progress finish. A second signal aborts that work. */
async function untilSignal({ options, messages, state, ...serving }: Serving): Promise<number> {
  const signals = watchSignals();
  const first = await signals.first;
  state.isStopping = true;
  messages.say(`automate: ${first}: stopping; open requests have at most ${options.grace / 1000} s; repeat to stop at once`);
  const outcome = await Promise.race([endServer(serving, options.grace).then(() => 'saved' as const), signals.second]);
  if (outcome === 'saved') return exitCodes.success;
  giveUp(serving.server);
  return signalExitCode(outcome);
}

import { createHash, randomUUID } from 'node:crypto';
import type { Event } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { Lookups } from '../../core/lookups/lookup.ts';
import type { Cache, Clock, Ledger, Ports } from '../../core/ports.ts';
import { RunSpending } from '../../core/spending.ts';
import type { Tools } from '../../core/tools/tools.ts';
import type { LoginPerson } from '../../io/auth/browser.ts';
import type { FileCache } from '../../io/cache/cache.ts';
import { createClock } from '../../io/clock/clock.ts';
import { withDailyLimits } from '../../io/daily-limits.ts';
import { createDocuments } from '../../io/documents/documents.ts';
import { homeFolder } from '../../io/files/home.ts';
import { createHttp, createTokens, type HttpTools } from '../../io/http/client.ts';
import type { CertifiedRoutes } from '../../io/http/client-certificate.ts';
import type { Routes } from '../../io/http/routes.ts';
import { createTransport, type Transport } from '../../io/http/transport.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import { RunFiles, type RunFilesOptions } from '../../io/transfers/run-files.ts';
import { envOf } from '../env.ts';
import type { FlowSecrets } from '../flow/flow-secrets.ts';
import type { Messages } from '../messages.ts';
import { homepage, version } from '../version.ts';
import { cachePath, maxCacheBytes } from './cache-file.ts';
import { createLateLookups } from './late-lookups.ts';
import { createLoginKeeper, createLoginStore } from './login-store.ts';

/** The account of a run's credits. */
export interface PaidLedger extends Ledger {
  /** Writes held credits to disk, before their requests are sent. */
  flush(): void;
  /** The credits of finished actions. */
  spent(): number;
}

/** The options of the ports. */
export interface WireOptions {
  /** The run's UUID; absent outside a run. */
  readonly run?: string;
  readonly credentials: FlowSecrets;
  readonly redactor: Redactor;
  readonly allowHttp: boolean;
  readonly cacert: string | undefined;
  readonly files: RunFilesOptions;
  readonly ledger: PaidLedger;
  /** The money that earlier parts of the run have spent, by node; absent for none. */
  readonly costs?: Readonly<Record<string, number>> | undefined;
  /** The environment of the credentials; absent for AUTOMATE_ENV. */
  readonly env: string | undefined;
  /** The connections of all runs of the process; absent for the run's own. */
  readonly routes?: Routes | undefined;
  /** The connections with client certificates; absent for none. */
  readonly certified?: CertifiedRoutes | undefined;
  report(event: Event): void;
  /** The person who can log in to a server; absent if there is no terminal, and in a run. */
  readonly person?: LoginPerson | undefined;
  /** Finds the person at the terminal; absent if there is none. */
  readonly findAsker?: Messages['findAsker'];
  /** Prints a warning; absent for none. */
  warn?(message: string): void;
}

/** The ports of one run. */
export type WiredPorts = Ports & {
  readonly spending: RunSpending;
  /** The credits that the run has spent. */
  readonly credits: () => number;
  /** The same ports for another run, with credentials, connections, tools and ledger in common. */
  forRun(run: string, report: (event: Event) => void): Ports;
  /** Writes cached answers to disk and ends tool servers. A second call does nothing. */
  close(): Promise<void>;
};

/** Creates the ports of a run. This is the only place that knows every adapter. */
export function wire(options: WireOptions): WiredPorts {
  const clock = createClock();
  const { redactor, credentials, allowHttp } = options;
  const { now, wallNow } = clock;
  const { cacert, certified, warn } = options;
  const how = { cacert, certified, environment: process.env, userAgent: `automate/${version}`, now, wallNow, warn };
  const transport = createTransport(how, options.routes);
  const tools = toolsOf(options, transport, clock);
  const cache = cacheOf(options, clock);
  const httpTools = (own: Transport, files: RunFiles) => ({
    transport: flushingFirst(own, options.ledger),
    files,
    secrets: credentials.secrets,
    commands: credentials.commands,
    used: credentials.used,
    allowHttp,
    now: clock.now,
    secret: redactor.add,
    logins: loginsOf(options, clock),
  });
  const files = new RunFiles(options.files);
  const tokens = createTokens(httpTools(transport, files));
  const identity = { home: homeFolder(process.env), userAgent: `automate/${version} (${homepage})`, wallNow };
  const httpOver = (own: Transport, ownFiles: RunFiles) => withDailyLimits(createHttp(httpTools(own, ownFiles), tokens), identity);
  const spending = new RunSpending(options.costs);
  const ports: Ports = {
    clock,
    ledger: options.ledger,
    spending,
    http: httpOver(transport, files),
    tools,
    lookups: flushingLookups(options.ledger),
    cache,
    documents: createDocuments(),
    report: options.report,
    uuidOf: createUuids(options.run ?? randomUUID()),
    random: Math.random,
  };
  return {
    ...ports,
    spending,
    credits: () => options.ledger.spent(),
    forRun(run, report) {
      const own = createTransport(how, options.routes);
      // The tools serve the other runs, too.
      return {
        ...ports,
        http: httpOver(own, new RunFiles({ ...options.files, list: undefined })),
        tools: { ...tools, abort: () => undefined },
        report,
        uuidOf: createUuids(run),
      };
    },
    async close() {
      await Promise.all([cache.close(), tools.close(), files.close(), tokens.close()]);
    },
  };
}

/** The logins of people to HTTP APIs; undefined if the flow has none. */
function loginsOf(options: WireOptions, { wallNow }: Clock): HttpTools['logins'] {
  const { logins } = options.credentials;
  if (logins.size === 0) return undefined;
  const keeper = createLoginKeeper(options, storeMessages(options));
  return { keeper, wallNow, ended: new Set(), loginPlace: (credential) => logins.get(credential) ?? { connection: credential } };
}

function storeMessages({ redactor, findAsker, warn }: WireOptions) {
  return { redactor, ...(findAsker && { findAsker }), warn: (message: string) => warn?.(message) };
}

/** The tools of MCP servers, over the connections of the run. */
function toolsOf(options: WireOptions, transport: Transport, clock: Clock): LateTools {
  const { credentials, redactor } = options;
  return createLateTools(options.ledger, async () => {
    const { createTools } = await import('../../io/mcp/tools.ts');
    return createTools({
      version,
      environment: process.env,
      cacert: options.cacert,
      fetch: transport.fetch,
      secrets: credentials.secrets,
      commands: credentials.commands,
      used: credentials.used,
      now: clock.now,
      wallNow: clock.wallNow,
      secret: redactor.add,
      person: options.person,
      storeLogin: createLoginStore(options, storeMessages(options)),
      report: options.report,
    });
  });
}

/** The cached answers. */
function cacheOf(options: WireOptions, clock: Clock) {
  const maxBytes = maxCacheBytes(process.env);
  return createLateCache(envOf(options.env), async () => {
    const { createCache } = await import('../../io/cache/cache.ts');
    const warn = (message: string) => options.warn?.(message);
    return createCache({ path: cachePath(process.env), maxBytes, redactor: options.redactor, wallNow: clock.wallNow, warn });
  });
}

/** Loads the cache with the first cached call, since most flows have none. Each environment has its own answers. */
function createLateCache(env: string, create: () => Promise<FileCache>): Cache & { close(): Promise<void> } {
  let coming: Promise<FileCache> | undefined;
  let cache: FileCache | undefined;
  return {
    async through(key, ...call) {
      coming ??= create();
      cache ??= await coming;
      return cache.through(`${env} ${key}`, ...call);
    },
    async close() {
      (await coming)?.close();
    },
  };
}

/** The lookups of a run. Before they answer, their credits are held on disk. */
function flushingLookups(ledger: PaidLedger): Lookups {
  const lookups = createLateLookups();
  let isFlushing = false;
  let failed: { readonly error: unknown } | undefined;
  return {
    find(request) {
      flushSoon();
      if (failed) throw failed.error;
      return lookups.find(request);
    },
  };

  /** Writes the held credits to disk once in a turn: thousands of lookups fit into one. */
  function flushSoon(): void {
    if (isFlushing) return;
    isFlushing = true;
    setImmediate(() => {
      isFlushing = false;
      try {
        ledger.flush();
      } catch (error) {
        failed = { error };
      }
    });
  }
}

type LateTools = Tools & { close(): Promise<void> };

/** Loads the MCP client with the first call of a tool, since most flows have none. */
function createLateTools(ledger: PaidLedger, create: () => Promise<LateTools>): LateTools {
  let coming: Promise<LateTools> | undefined;
  let tools: LateTools | undefined;
  let hasEnded = false;
  return {
    async call(call, progressed) {
      const port = await loadedTools();
      ledger.flush();
      return port.call(call, progressed);
    },
    server: async (connection) => (await loadedTools()).server(connection),
    abort() {
      hasEnded = true;
      tools?.abort();
    },
    async close() {
      hasEnded = true;
      await (await coming)?.close();
    },
  };

  async function loadedTools(): Promise<LateTools> {
    coming ??= create();
    tools ??= await coming;
    if (hasEnded) throw new Failure('network', 'the run has ended', { retryable: true, sent: false });
    return tools;
  }
}

/** Writes the held credits to disk before each request. */
function flushingFirst(transport: Transport, ledger: PaidLedger): Transport {
  return {
    ...transport,
    async send(request) {
      // The other records that go on in this turn hold their credits first: one write serves them all. Saves 5 % of a run's CPU.
      await undefined;
      ledger.flush();
      return transport.send(request);
    },
  };
}

/** Creates UUIDs from names: the same for the same name in the same run (RFC 9562, 5.8: version 8). */
function createUuids(run: string): (name: string) => string {
  return (name) => {
    const hex = createHash('sha256').update(`${run} ${name}`).digest('hex');
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}

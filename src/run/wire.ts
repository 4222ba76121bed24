import { randomUUID } from 'node:crypto';
import type { Event } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import type { Lookups } from '../core/lookup.ts';
import type { Cache, Clock, Ledger, Ports } from '../core/ports.ts';
import type { Tools } from '../core/tools.ts';
import type { SaveNames } from '../core/transfer.ts';
import { homepage, version } from '../core/version.ts';
import type { FlowSecrets } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import type { Redactor } from '../credentials/redact.ts';
import { RunSpending } from '../credits/spending.ts';
import { createClock } from '../files/clock.ts';
import { envOf, homeFolder } from '../files/home.ts';
import type { KeptAnswers } from '../http/answers/kept-answers.ts';
import type { LoginPerson } from '../http/auth/browser.ts';
import { createLoginKeeper, createLoginStore } from '../http/auth/login-store.ts';
import type { ExtraAuthorities } from '../http/authorities.ts';
import type { FileCache } from '../http/cache/cache.ts';
import { cachePath, maxCacheBytes } from '../http/cache/cached-answer.ts';
import { createAuthentication, createHttp, type HttpTools } from '../http/client.ts';
import type { CertifiedRoutes } from '../http/client-certificate.ts';
import { createDocuments } from '../http/documents/documents.ts';
import type { Routes } from '../http/routes.ts';
import { RunFiles, type RunFilesOptions } from '../http/transfers/run-files.ts';
import { createTransport, type Transport } from '../http/transport.ts';
import { createLateLookups } from '../places/late-lookups.ts';
import { createUuids } from './uuids.ts';

export interface PaidLedger extends Ledger {
  /** Writes the reserved credits to disk. Must precede the requests for which the credits are reserved. */
  flush(): void;
  /** Credits spent on requests and lookups that have ended. */
  spent(): number;
}

interface WireOptions {
  /** The run's UUID; undefined outside a run. */
  readonly run?: string;
  readonly credentials: FlowSecrets;
  readonly redactor: Redactor;
  readonly allowHttp: boolean;
  readonly cacert: ExtraAuthorities | undefined;
  readonly files: RunFilesOptions;
  readonly ledger: PaidLedger;
  /** Money that earlier parts of the run have spent, by node; undefined if none. */
  readonly costs?: Readonly<Record<string, number>>;
  /** Undefined to use the environment in AUTOMATE_ENV. */
  readonly env: string | undefined;
  /** Shared by all runs of the process; undefined if the run opens its own. */
  readonly routes?: Routes;
  readonly certified?: CertifiedRoutes;
  readonly answers?: KeptAnswers;
  report(event: Event): void;
  /** The person who can log in to a server. Undefined in a run, and without a terminal. */
  readonly person?: LoginPerson;
  readonly findAsker?: Messages['findAsker'];
  warn?(message: string): void;
}

export type WiredPorts = Ports & {
  readonly spending: RunSpending;
  /** Names of the files that records have saved, so that no two records use the same name. */
  readonly saveNames: SaveNames;
  readonly credits: () => number;
  /** Ports for a further run that shares credentials, connections, tools and ledger. */
  forRun(run: string, report: (event: Event) => void): Ports;
  /** Writes cached answers to disk and ends the MCP servers that run as commands. A second call does nothing. */
  close(): Promise<void>;
};

/** Creates a run's ports. Only this function connects the engine's ports to the code for network, files and secrets. */
export function wire(options: WireOptions): WiredPorts {
  const clock = createClock();
  const { redactor, credentials, allowHttp, answers, cacert, certified, warn } = options;
  const { now, wallNow } = clock;
  const how = { cacert, certified, environment: process.env, userAgent: `automate/${version}`, now, wallNow, warn };
  const transport = createTransport(how, options.routes);
  const tools = toolsOf(options, transport, clock);
  const cache = cacheOf(options, clock);
  const documents = createDocuments(clock);
  const publicServers = { home: () => homeFolder(process.env), userAgent: `automate/${version} (${homepage})`, wallNow };
  const httpTools = (own: Transport, files: RunFiles) => ({
    documents,
    transport: own,
    flush: () => options.ledger.flush(),
    publicServers,
    files,
    secrets: credentials.secrets,
    commands: credentials.commands,
    used: credentials.used,
    allowHttp,
    ...{ now, wallNow },
    secret: redactor.add,
    logins: loginsOf(options, clock),
  });
  const files = new RunFiles(options.files);
  answers?.readFilesWith((paths) => files.contentOf(paths));
  const authentication = createAuthentication(httpTools(transport, files));
  const spending = new RunSpending(options.costs);
  const ports: Ports = {
    clock,
    ledger: options.ledger,
    spending,
    http: createHttp(httpTools(transport, files), authentication),
    lookups: flushingLookups(options.ledger),
    ...{ tools, cache, answers, documents },
    report: options.report,
    uuidOf: createUuids(options.run ?? randomUUID()),
    random: Math.random,
  };
  return {
    ...ports,
    spending,
    saveNames: files.names,
    credits: () => options.ledger.spent(),
    forRun(run, report) {
      const own = createTransport(how, options.routes);
      // `abort` does nothing, because one run must not abort tools that other runs share.
      return {
        ...ports,
        http: createHttp(httpTools(own, new RunFiles({ ...options.files, log: undefined })), authentication),
        tools: { ...tools, abort: () => undefined },
        report,
        uuidOf: createUuids(run),
      };
    },
    async close() {
      await Promise.all([cache.close(), tools.close(), authentication.tokens.close()]);
    },
  };
}

/** Logins of people to HTTP APIs. Undefined if the flow uses no logins. */
function loginsOf(options: WireOptions, { wallNow }: Clock): HttpTools['logins'] {
  const { logins } = options.credentials;
  if (logins.size === 0) return undefined;
  const keeper = createLoginKeeper(options, storeMessages(options));
  return { keeper, wallNow, ended: new Set(), loginPlace: (credential) => logins.get(credential) ?? { connection: credential } };
}

function storeMessages({ redactor, findAsker, warn }: WireOptions) {
  return { redactor, findAsker, warn: (message: string) => warn?.(message) };
}

function toolsOf(options: WireOptions, transport: Transport, clock: Clock): LateTools {
  const { credentials, redactor } = options;
  return createLateTools(options.ledger, async () => {
    const { createTools } = await import('../mcp/tools.ts');
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

function cacheOf(options: WireOptions, clock: Clock) {
  const maxBytes = maxCacheBytes(process.env);
  return createLateCache(envOf(options.env), async () => {
    const { createCache } = await import('../http/cache/cache.ts');
    const warn = (message: string) => options.warn?.(message);
    return createCache({ path: cachePath(process.env), maxBytes, redactor: options.redactor, wallNow: clock.wallNow, warn });
  });
}

/** Opened on the first cached call, because most flows cache nothing. Answers are cached separately for each environment. */
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

/** Writes the reserved credits to disk shortly after each lookup. */
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

  /** Writes the reserved credits at most once per turn of the event loop, so that thousands of lookups share one write. */
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

/** The MCP client is loaded on the first tool call, because most flows call no tools. */
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

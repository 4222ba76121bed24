import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Event } from '../core/event.ts';
import type { Cache, Ports } from '../core/ports.ts';
import { createCache, unkept } from '../io/cache.ts';
import { createClock } from '../io/clock.ts';
import { createHttp } from '../io/http/client.ts';
import { createTransport } from '../io/http/transport.ts';
import type { RunLedger } from '../io/ledger/run-ledger.ts';
import type { Redactor } from '../io/redact.ts';
import type { FlowSecrets } from './flow-secrets.ts';
import { version } from './version.ts';

/** What a command knows of the world its flow will run in. */
export interface WireOptions {
  /** The run's UUID; absent where no run is meant. */
  readonly run?: string;
  readonly credentials: FlowSecrets;
  readonly redactor: Redactor;
  readonly allowHttp: boolean;
  readonly cacert: string | undefined;
  readonly ledger: RunLedger;
  report(event: Event): void;
  /** Tells a person what is not as it should be, and ends nothing; absent where nobody is told. */
  warn?(message: string): void;
}

/** The ports of one run, and what it has spent. */
export type WiredPorts = Ports & { readonly credits: () => number };

/** Puts the ports together: the only place that knows every adapter. */
export function wire(options: WireOptions): WiredPorts {
  const clock = createClock();
  const { redactor, credentials, allowHttp } = options;
  const transport = createTransport({
    cacert: options.cacert,
    environment: process.env,
    userAgent: `automate/${version}`,
    now: clock.now,
    wallNow: clock.wallNow,
  });
  return {
    clock,
    ledger: options.ledger,
    credits: options.ledger.spent,
    http: createHttp({ transport, secrets: credentials.secrets, used: credentials.used, allowHttp, now: clock.now, secret: redactor.add }),
    cache: createLateCache(async () => {
      const warn = (message: string) => options.warn?.(message);
      return createCache({ folder: await cacheFolder(warn), redactor, wallNow: clock.wallNow, warn });
    }),
    report: options.report,
    uuidOf: createUuids(options.run ?? randomUUID()),
    random: Math.random,
  };
}

/** Most flows keep no answers: where to keep them is looked up when the first one does. */
function createLateCache(create: () => Promise<Cache>): Cache {
  let cache: Promise<Cache> | undefined;
  return {
    async through(...call) {
      cache ??= create();
      return (await cache).through(...call);
    },
  };
}

/** Where answers are kept; absent when the home cannot be made, which is told. */
async function cacheFolder(warn: (message: string) => void): Promise<string | undefined> {
  const [{ homeFolder }, { refuseLink }] = await Promise.all([import('../io/home.ts'), import('../io/state-file.ts')]);
  try {
    const folder = join(homeFolder(process.env), 'cache');
    refuseLink(folder);
    return folder;
  } catch (error) {
    warn(unkept((error as Error).message));
    return undefined;
  }
}

/** UUIDs that are the same for the same name in the same run (RFC 9562, 5.8: version 8, our own making). */
function createUuids(run: string): (name: string) => string {
  return (name) => {
    const hex = createHash('sha256').update(`${run} ${name}`).digest('hex');
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}

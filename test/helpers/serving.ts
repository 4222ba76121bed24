import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { KeySettings } from '../../src/serve/store/api-key.ts';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import { KeyStore } from '../../src/serve/store/keys.ts';
import { type Finished, type Workplace, workplace } from './cli.ts';
import type { StartedHere } from './in-process.ts';
import { settings } from './server-keys.ts';

/** A running `automate serve` that a test has started. */
export interface Serving {
  readonly place: Workplace;
  readonly address: string;
  /** The id of the server's process; undefined if the server runs in the process of the test. */
  readonly pid: number | undefined;
  /** Returns everything that the server has printed so far. */
  said(): string;
  /** Creates an API key, and returns its value. */
  key(more?: Partial<KeySettings>): string;
  /** Sends a request. `key`: sent as a bearer token. */
  send(path: string, init?: RequestInit & { readonly key?: string }): Promise<Response>;
  /** Sends a signal to the server, and waits until it has ended. */
  end(signal?: NodeJS.Signals): Promise<Finished>;
}

/** The options for starting a server. */
export interface ServingOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** The workplace of an earlier server. */
  readonly place?: Workplace;
  /** The folder with the flows; `flows` by default. */
  readonly folder?: string;
}

/** Starts `automate serve` in its own process, which can be killed. `flows`: the YAML of each flow, keyed by its id. */
export function serving(flows: Record<string, string>, options: ServingOptions = {}): Promise<Serving> {
  return started(flows, options, (place, folder, { args = [], env = {} }) => {
    const { child, finished } = place.start(['serve', folder, '--port', '0', ...args], { env, keepStdin: true });
    return { pid: child.pid, stderr: child.stderr, finished, kill: async (signal) => void child.kill(signal) };
  });
}

/**
 * Starts `automate serve` in this process, which takes a tenth of the time. SIGTERM or SIGINT ends it. `flows`: the YAML of each
 * flow, keyed by its id.
 */
export function servingHere(flows: Record<string, string>, options: ServingOptions = {}): Promise<Serving> {
  return started(flows, options, (place, folder, { args = [], env = {} }) => {
    const server = place.startHere(['serve', place.path(folder), '--port', '0', ...args], { env });
    onTestFinished(async () => {
      await server.kill('SIGTERM');
      await server.finished;
    });
    return server;
  });
}

/** The process of a server, or a server in this process. */
type Process = Omit<StartedHere, 'stdout' | 'stderr'> & { readonly stderr: Readable | null; readonly pid?: number };

async function started(
  flows: Record<string, string>,
  options: ServingOptions,
  start: (place: Workplace, folder: string, options: ServingOptions) => Process,
): Promise<Serving> {
  const { place: given, folder = 'flows' } = options;
  const place = given ?? (await workplace());
  const { mkdir } = await import('node:fs/promises');
  await mkdir(place.path(folder), { recursive: true });
  for (const [id, text] of Object.entries(flows)) await place.write(`${folder}/${id}.yaml`, text);
  const server = start(place, folder, options);
  const { address, said } = await greeting(server);
  return {
    place,
    address,
    pid: server.pid,
    said,
    key: (more) => madeKey(place.path('.automate'), more),
    send(path, { key, headers, ...init } = {}) {
      return fetch(address + path, {
        ...init,
        headers: { ...(key && { authorization: `Bearer ${key}` }), ...(headers as Record<string, string>) },
      });
    },
    async end(signal = 'SIGTERM') {
      await server.kill(signal);
      return server.finished;
    },
  };
}

function madeKey(home: string, more: Partial<KeySettings> = {}): string {
  const database = new ServerDatabase(home);
  try {
    return new KeyStore(database, Date.now).create(settings(more)).value;
  } finally {
    database.close();
  }
}

/** Waits until the server prints its address. */
function greeting({ stderr, finished }: Process): Promise<{ readonly address: string; said(): string }> {
  let text = '';
  return new Promise((resolve, reject) => {
    stderr?.on('data', (chunk: Buffer) => {
      text += chunk;
      const address = / at (https?:\S+)/.exec(text)?.[1];
      if (address !== undefined) resolve({ address, said: () => text });
    });
    void finished.then((ended) => reject(new Error(`the server ended: ${ended.stderr}`)));
  });
}

/** Returns the options of a POST request with a JSON body. */
export function posting(body: unknown, more: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...more },
  };
}

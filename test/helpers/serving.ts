import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { KeySettings } from '../../src/io/server/api-key.ts';
import { ServerDatabase } from '../../src/io/server/database.ts';
import { KeyStore } from '../../src/io/server/keys.ts';
import { type Finished, type Workplace, workplace } from './cli.ts';
import type { StartedHere } from './in-process.ts';
import { settings } from './server-keys.ts';

/** A server of the test. */
export interface Serving {
  readonly place: Workplace;
  readonly address: string;
  /** What it has printed so far. */
  said(): string;
  /** Makes an API key. Returns its value. */
  key(more?: Partial<KeySettings>): string;
  /** Sends a request. `key`: as Bearer. */
  send(path: string, init?: RequestInit & { readonly key?: string }): Promise<Response>;
  /** Ends the server with a signal, and waits for its end. */
  end(signal?: NodeJS.Signals): Promise<Finished>;
}

/** How a server is started. */
export interface ServingOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** An earlier server's place. */
  readonly place?: Workplace;
  /** The folder of the flows; by default `flows`. */
  readonly folder?: string;
}

/** Starts `automate serve` over flows by their ids in a process of its own, which can be killed. */
export function serving(flows: Record<string, string>, options: ServingOptions = {}): Promise<Serving> {
  return started(flows, options, (place, folder, { args = [], env = {} }) => {
    const { child, finished } = place.start(['serve', folder, '--port', '0', ...args], { env, keepStdin: true });
    onTestFinished(() => void child.kill('SIGKILL'));
    return { stderr: child.stderr, finished, kill: async (signal) => void child.kill(signal) };
  });
}

/** Starts `automate serve` over flows by their ids in this process: in a tenth of the time. It ends by SIGTERM or SIGINT. */
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

/** A server that has been started. */
type Process = Omit<StartedHere, 'stderr'> & { readonly stderr: Readable | null };

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

/** Waits until the server says its address. */
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

/** Sends a request with a JSON body. */
export function posting(body: unknown, more: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...more },
  };
}

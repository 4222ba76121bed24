import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { onTestFinished } from 'vitest';
import { openRedis } from '../../src/workers/queue/connection.ts';
import { queueKeys } from '../../src/workers/queue/queue-keys.ts';
import { QueueUnits } from '../../src/workers/queue/queue-units.ts';
import { parseQueueUrl } from '../../src/workers/queue/queue-url.ts';
import { createSeal } from '../../src/workers/queue/seal.ts';
import { openUnitQueue } from '../../src/workers/queue/unit-jobs.ts';
import { queueKey } from './cli.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };

/** Returns a manifest that a worker accepts, if it accepts the flow. */
export function forgedManifest(run: string, text: string) {
  return {
    version,
    run,
    flow: { file: 'flow.yaml', text, options: { allowHttp: false, textCells: true, saved: {} } },
    set: [],
    env: 'default',
    format: { kind: 'csv', gzip: false },
    columns: ['id'],
    csvSafe: false,
    hasTextCells: true,
    isLimited: false,
    keepsGoing: false,
    wantsAttempts: false,
  };
}

/** Flows that use the machine on which they run: a name, the text of the flow, and the reason for refusing it. */
export const hostileFlows: readonly (readonly [name: string, text: string, message: string])[] = [
  [
    'starts a command',
    `connections:\n  m: { type: mcp, command: "sh -c 'touch canary-command'" }\nnodes:\n  - { type: mcp, connection: m, tool: t }\n`,
    'found one that is started by a command',
  ],
  [
    'starts a command in a loop',
    `connections:\n  m: { type: mcp, command: [touch, canary-loop] }\nnodes:\n  - { type: loop, max: 2, while: "true", nodes: [{ type: mcp, connection: m, tool: t }] }\n`,
    'found one that is started by a command',
  ],
  [
    'saves a file',
    'nodes:\n  - { type: http, url: "https://api.example.com/", save: { to: "canary-save" } }\n',
    'does not send or save files',
  ],
  [
    'uploads a file',
    'nodes:\n  - { type: http, method: POST, url: "https://api.example.com/", form: { f: { file: "{{id}}" } } }\n',
    'does not send or save files',
  ],
  [
    'reads a data file',
    'nodes:\n  - { type: places, lookup: points, source: file, file: /etc/passwd, chain: Q37158, near: { lat: "1", lon: "1", radius: 9m } }\n',
    'does not read files on this machine, found /etc/passwd',
  ],
  [
    'reads a client certificate',
    'connections:\n  b: { type: http, base_url: "https://api.example.com", auth: none, client_cert: { cert: /dev/tty, key: /dev/tty } }\nnodes:\n  - { type: http, connection: b, url: / }\n',
    'does not read files on this machine, found /dev/tty',
  ],
  [
    "uses a person's login",
    'connections:\n  c: { type: http, base_url: "https://api.example.com", auth: { type: oauth2_authorization_code, credential: crm, client_id: me } }\nnodes:\n  - { type: http, connection: c, url: / }\n',
    'found crm',
  ],
  ['uses a public server', 'nodes:\n  - { type: geocode, provider: nominatim, address: "{{id}}" }\n', 'does not use a public server'],
];

/** Puts runs into a queue, as somebody can who holds the queue key. */
export interface Forger {
  /** Puts a run with one record into the queue. */
  put(run: string, manifest: object): Promise<void>;
  /** Resolves with the problem that a worker has with a run. */
  problemWith(run: string): Promise<string>;
}

/** Connects a forger to the queue. The connection is closed after the test. */
export async function forger(url: string): Promise<Forger> {
  const redis = await openRedis(parseQueueUrl(url), {}, () => undefined);
  const keys = queueKeys('default');
  const jobs = await openUnitQueue(redis, keys);
  onTestFinished(async () => {
    await jobs.close();
    await redis.close();
  });
  const parts = { redis, keys, jobs, seal: createSeal(queueKey, 'default'), now: () => performance.now() };
  const problems = new Map<string, (problem: string) => void>();
  const found = new Map<string, string>();
  return {
    async put(run, manifest) {
      const units = new QueueUnits(parts, {
        ...{ run, manifest, hasHeader: true, takesOldResults: false },
        facts: { version, flow: 'forged', host: hostname(), pid: String(process.pid), started: new Date().toISOString() },
        desk: { answer: async () => ({ calls: 64 }), take: () => undefined, takeEarlier: () => undefined, lost: () => undefined },
        newText: () => {
          throw new Error('a forged run has no long results');
        },
        counts: () => ({}),
        warn: () => undefined,
        troubled: () => undefined,
        looked(workers) {
          for (const problem of workers.flatMap((worker) => worker.problems)) {
            found.set(problem.run, problem.problem);
            problems.get(problem.run)?.(problem.problem);
          }
        },
      });
      onTestFinished(() => units.drop());
      await units.begin();
      units.put({ id: 1, items: [{ number: 1, fields: new Map([['id', '/etc/passwd']]), end: { offset: 0, line: 0 } }] });
    },
    problemWith(run) {
      const known = found.get(run);
      return known === undefined ? new Promise((resolve) => problems.set(run, resolve)) : Promise.resolve(known);
    },
  };
}

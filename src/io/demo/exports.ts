import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Answer, error, ok, type Route } from './answer.ts';

interface Job {
  readonly country: string;
  /** How often its state was asked for. */
  asked: number;
}

/** Exports that take their time: a job is begun, is done when it is asked for the third time, and then has a file. `fileOf`: a country's; absent where it has none. */
export function createExports(fileOf: (country: string) => object | undefined): Route[] {
  const jobs = new Map<string, Job>();
  return [
    { method: 'POST', path: /^\/v1\/exports$/, answer: (_, request) => begin(request) },
    { method: 'GET', path: /^\/v1\/exports\/([^/]+)$/, answer: state },
    { method: 'GET', path: /^\/v1\/exports\/([^/]+)\/file$/, answer: file },
  ];

  async function begin(request: IncomingMessage): Promise<Answer> {
    const body = (await json(request).catch(() => null)) as { country?: unknown } | null;
    if (typeof body?.country !== 'string') return error(400, 'expected a JSON body such as {"country":"IS"}');
    const id = `export-${jobs.size + 1}`;
    jobs.set(id, { country: body.country, asked: 0 });
    return { ...ok({ id, status: 'queued' }), status: 202 };
  }

  function state(id: string): Answer {
    const job = jobs.get(id);
    if (!job) return error(404, `no export has the id ${id}`);
    job.asked++;
    return ok({ id, status: statusOf(job) });
  }

  function file(id: string): Answer {
    const job = jobs.get(id);
    if (!job) return error(404, `no export has the id ${id}`);
    return statusOf(job) === 'done' ? ok(fileOf(job.country) ?? {}) : error(409, `the export ${id} is not done`);
  }

  function statusOf({ country, asked }: Job): string {
    if (asked < 3) return 'running';
    return fileOf(country) ? 'done' : 'failed';
  }
}

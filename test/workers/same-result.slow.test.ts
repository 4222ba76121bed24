import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readCredits, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, type SeenRequest } from '../helpers/http-server.ts';
import { hasRedis, redisServer, unlessRedis } from '../helpers/redis.ts';

/** A flow and its input, run in one process and in several. */
interface Case {
  readonly name: string;
  /** `API` stands for the origin of the server. */
  readonly flow: string;
  readonly input?: string | Buffer;
  /** The name of the input. */
  readonly file?: string;
  readonly args?: readonly string[];
  readonly out?: string;
}

const rows = (count: number, row: (id: number) => string) => Array.from({ length: count }, (_, index) => row(index + 1)).join('');
const table = `id,note\n${rows(700, (id) => `${id},"a ""quoted""\r\nnote ${id}"\r\n`)}`;
const few = `id\n${rows(60, (id) => `${id}\n`)}`;
const get = (more = '') => `nodes:\n  - { type: http, url: "API/items/{{id}}", map: [name, price]${more} }\n`;

const cases: Case[] = [
  { name: 'failures, and quoted line breaks', flow: get(), input: table },
  { name: 'retries', flow: get().replace('/items/', '/flaky/'), input: few },
  { name: 'a byte order mark and gzip', flow: get(), input: gzipSync(`\ufeff${few}`), file: 'in.csv.gz', out: 'out.csv.gz' },
  { name: 'Latin-1', flow: get(), input: Buffer.from('id,n\n1,\xe4\n2,\xf6\n', 'latin1'), args: ['--encoding', 'latin1'] },
  {
    name: 'a JSON array with exact digits',
    flow: get(),
    input: '[{"id":1,"d":1.50},{"id":2,"d":12345678901234567890}]',
    file: 'in.json',
    out: 'out.json',
  },
  { name: 'NDJSON with broken lines', flow: get(), input: '{"id":1}\n{"id":\n{"id":3}\n', file: 'in.ndjson', out: 'out.ndjson' },
  { name: 'JSON in, a table out', flow: get(), input: '{"id":1,"a":"x"}\n{"id":2}\n', file: 'in.ndjson' },
  {
    name: 'rows of a list',
    flow: 'nodes:\n  - { type: http, url: "API/lists/{{id}}", map: { item: "items[].n" } }\n',
    input: few,
  },
  {
    name: 'no row for an empty list',
    flow: 'nodes:\n  - { type: http, url: "API/none/{{id}}", map: { item: "items[].n" }, when_empty: drop }\n',
    input: few,
  },
  {
    name: 'pages',
    flow: 'nodes:\n  - { type: http, url: "API/pages/{{id}}", paginate: { type: next_url, path: next, items: items }, map: { item: "items[].n" } }\n',
    input: few,
  },
  {
    name: 'batches in which every record joins',
    flow: 'nodes:\n  - { type: http, method: POST, url: "API/batch", batch: { size: 20, items: "{{id}}", match: { field: id, path: "found[].id" } }, body: { ids: "{{items}}" }, map: { name: "found[].name" } }\n',
    input: table,
  },
  { name: 'conditions and passed failures', flow: get(', when: "id != \'5\'", on_error: keep'), input: few },
  {
    name: 'a filter and kept fields',
    flow: `${get()}  - { type: filter, where: "id != '3'" }\n  - { type: set, keep: [id, name] }\n`,
    input: few,
  },
  {
    name: 'a poll',
    flow: 'nodes:\n  - { type: poll, every: 1ms, until: "state == \'done\'", nodes: [ { type: http, url: "API/jobs/{{id}}", map: [state] } ] }\n',
    input: few,
  },
  {
    name: 'a lookup in embedded data',
    flow: 'nodes:\n  - { type: geocode, address: "{{town}}" }\n',
    input: 'town\nParis\nNowhereville\nBerlin\n',
  },
  { name: 'an empty input', flow: get(), input: '[]', file: 'in.json' },
  { name: 'a header alone', flow: get(), input: 'id\n' },
  { name: 'one record', flow: get(), input: 'id\n1\n' },
  {
    name: 'set fields, skipped and limited records',
    flow: get(', headers: { x-tag: "{{tag}}" }'),
    input: few,
    args: ['--set', 'tag=a', '--skip', '5', '--limit', '40'],
  },
  { name: 'a stop at a failure', flow: get(', on_error: stop'), input: few },
  { name: 'a maximum of errors', flow: get(), input: few, args: ['--max-errors', '0', '--concurrency', '1'] },
];

/** Answers by the path alone, so that every run gets the same. */
function answers(): (request: SeenRequest, response: ServerResponse) => void {
  const asked = new Map<string, number>();
  return ({ path, body }, response) => {
    const [, kind = '', id = ''] = path.split(/[/?]/);
    const times = (asked.get(path) ?? 0) + 1;
    asked.set(path, times);
    const send = (value: object) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(value));
    };
    if (kind === 'flaky' && times % 2 === 1 && Number(id) % 3 === 0) {
      response.statusCode = 503;
      response.setHeader('retry-after', '0');
      response.end();
    } else if (kind === 'items' && Number(id) % 7 === 0) {
      response.statusCode = 404;
      response.end('not there');
    } else if (kind === 'lists') send({ items: Array.from({ length: Number(id) % 4 }, (_, n) => ({ n })) });
    else if (kind === 'none') send({ items: Number(id) % 2 === 0 ? [] : [{ n: 1 }] });
    else if (kind === 'pages') {
      const page = Number(path.split('page=')[1] ?? 1);
      send({ items: [{ n: `${id}.${page}` }], next: page < 3 ? `/pages/${id}?page=${page + 1}` : null });
    } else if (kind === 'batch') {
      const { ids } = JSON.parse(body) as { ids: string[] };
      send({ found: ids.map((found) => ({ id: found, name: `name ${found}` })) });
    } else if (kind === 'jobs') send({ state: times % 3 === 0 ? 'done' : 'busy' });
    else send({ name: `name ${id}`, price: Number(id) });
  };
}

async function outcome({ flow, input = '', file = 'in.csv', args = [], out = 'out.csv' }: Case, more: readonly string[]) {
  const server: HttpServer = await httpServer(answers());
  const place = await workplace({ 'flow.yaml': flow.replaceAll('API', server.origin), [file]: input });
  const ended = await place.automate(['run', 'flow.yaml', '--in', file, '--out', out, '--quiet', ...args, ...more]);
  const files = (await place.files()).filter((name) => name.startsWith('out') && !name.includes('automate'));
  return {
    code: ended.code,
    files: Object.fromEntries(
      await Promise.all(files.map(async (name) => [name, (await place.read(name)).replaceAll(server.origin, 'API')])),
    ),
    requests: server.requests.length,
    credits: (await readCredits(place)).spent,
    stderr: ended.stderr,
  };
}

describe('a run with --workers 2 has the files, exit code, requests and credits of a run in one process', () => {
  test.each(cases)('for $name', async (one) => {
    const plain = await outcome(one, []);
    const { stderr, ...withWorkers } = await outcome(one, ['--workers', '2']);
    expect(Object.keys(withWorkers.files)).toContain(one.out ?? 'out.csv');
    // After a stop, other records may have been begun; what is written stays the beginning.
    const isStopped = plain.code === 5;
    const { stderr: _, ...expected } = plain;
    if (!isStopped) expect(withWorkers, stderr).toEqual(expected);
    else expect(withWorkers.code).toBe(5);
  });
});

describe.skipIf(!hasRedis)(
  `a run with --queue has the files, exit code, requests and credits of a run in one process${unlessRedis}`,
  () => {
    test('for each flow and input, with two workers', async () => {
      const { url } = await redisServer();
      const place = await workplace({});
      const workers = [1, 2].map(() => place.start(['worker', '--queue', url, '--quiet']));
      for (const one of cases) {
        const { stderr: _, ...plain } = await outcome(one, []);
        const { stderr, ...queued } = await outcome(one, ['--queue', url]);
        if (plain.code === 5) expect(queued.code, one.name).toBe(5);
        else expect(queued, `${one.name}: ${stderr}`).toEqual(plain);
      }
      for (const { child } of workers) child.kill('SIGTERM');
      for (const { finished } of workers) expect((await finished).code).toBe(0);
    }, 240_000);
  },
);

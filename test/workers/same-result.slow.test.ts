import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { readCredits, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, type SeenRequest } from '../helpers/http-server.ts';
import { listeningServer } from '../helpers/mcp/servers.ts';
import { workerHere } from '../helpers/queued-run.ts';
import { hasRedis, redisServer, unlessRedis } from '../helpers/redis.ts';
import { type Serving, servingHere as serving } from '../helpers/serving.ts';

/** A flow and its input, which are run in one process and then in several processes. */
interface Case {
  readonly name: string;
  /** The server's origin replaces the string `API` in the flow. */
  readonly flow: string;
  readonly input?: string | Buffer;
  /** The name of the input file. */
  readonly file?: string;
  readonly args?: readonly string[];
  readonly out?: string;
  /** `args` in the form of a query to the server. A case that has `args` but no query is not run on the server. */
  readonly query?: string;
  /** The content type if it differs from the usual type for the file's format. */
  readonly type?: string;
  /** True to run the case with worker processes, with a queue and on a server. The other cases are run only with a queue, the fastest way. */
  readonly everyWay?: true;
}

const rows = (count: number, row: (id: number) => string) => Array.from({ length: count }, (_, index) => row(index + 1)).join('');
const table = `id,note\n${rows(700, (id) => `${id},"a ""quoted""\r\nnote ${id}"\r\n`)}`;
const few = `id\n${rows(60, (id) => `${id}\n`)}`;
const get = (more = '') => `nodes:\n  - { type: http, url: "API/items/{{id}}", map: [name, price]${more} }\n`;

const cases: Case[] = [
  { name: 'failures, and quoted line breaks', flow: get(), input: table },
  { name: 'retries', everyWay: true, flow: get().replace('/items/', '/flaky/'), input: few },
  {
    name: 'a byte order mark and gzip',
    everyWay: true,
    flow: get(),
    input: gzipSync(`\ufeff${few}`),
    file: 'in.csv.gz',
    out: 'out.csv.gz',
  },
  {
    name: 'Latin-1',
    flow: get(),
    input: Buffer.from('id,n\n1,\xe4\n2,\xf6\n', 'latin1'),
    args: ['--encoding', 'latin1'],
    query: '',
    type: 'text/csv; charset=latin1',
  },
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
  {
    name: 'batches that some records do not join, and that pass their failures',
    everyWay: true,
    flow: `nodes:
  - { type: http, method: POST, url: "API/batch", when: "id != '7'", on_error: keep, batch: { size: 20, items: "{{id}}", match: { field: id, path: "found[].id" } }, body: { ids: "{{items}}" }, map: { name: "found[].name" } }
  - { type: http, method: POST, url: "API/refused", on_error: keep, batch: { size: 4, items: "{{id}}" }, body: { ids: "{{items}}" } }
`,
    input: few,
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
    name: 'a loop',
    everyWay: true,
    flow: `nodes:
  - { type: set, fields: { cursor: "" } }
  - type: loop
    while: cursor != null
    carry: [cursor]
    nodes:
      - { type: http, url: "API/cursors/{{id}}?cursor={{cursor}}", map: { cursor: next, item: "items[].n" } }
`,
    input: few,
  },
  {
    name: 'a tool of an MCP server',
    flow: `connections: { tools: { type: mcp, url: "MCP" } }
nodes:
  - { type: mcp, connection: tools, tool: echo, arguments: { message: "{{id}}" }, map: { said: text } }
`,
    input: few,
  },
  {
    name: 'a model with a maximum cost',
    everyWay: true,
    flow: `connections: { m: { type: http, base_url: "API/v1" } }
nodes:
  - { type: llm, provider: openai, connection: m, model: m, prompt: "{{id}}", max_tokens: 10, output: { a: string }, price: { input: 10, output: 10 }, max_cost: 5 }
`,
    input: few,
  },
  {
    name: 'places',
    flow: 'nodes:\n  - { type: places, lookup: chain, name: "{{name}}" }\n',
    input: 'name\nStarbucks\nno such chain\n',
  },
  {
    name: 'a lookup in embedded data',
    flow: 'nodes:\n  - { type: geocode, address: "{{town}}" }\n',
    input: 'town\nParis\nNowhereville\nBerlin\n',
  },
  {
    name: 'tabs between fields',
    flow: get(),
    input: `id\tnote\n${rows(20, (id) => `${id}\t"a, ""b""\tc"\n`)}`,
    file: 'in.tsv',
    out: 'out.tsv',
  },
  { name: 'a workbook with numbers from a table', everyWay: true, flow: get(), input: few, out: 'out.xlsx' },
  { name: 'stdin and stdout', everyWay: true, flow: get(), input: few, file: '-', out: '-' },
  {
    name: 'rows in any order',
    everyWay: true,
    flow: get().replace('/items/', '/flaky/'),
    input: few,
    args: ['--unordered'],
    query: 'unordered',
  },
  { name: 'an empty file', flow: get(), input: '', file: 'in.ndjson', out: 'out.ndjson' },
  { name: 'empty lines alone', flow: get(), input: '\n\n', file: 'in.ndjson', out: 'out.ndjson' },
  { name: 'an empty input', flow: get(), input: '[]', file: 'in.json' },
  { name: 'a header alone', flow: get(), input: 'id\n' },
  { name: 'one record', flow: get(), input: 'id\n1\n' },
  {
    name: 'set fields, skipped and limited records',
    flow: get(', headers: { x-tag: "{{tag}}" }'),
    input: few,
    args: ['--set', 'tag=a', '--skip', '5', '--limit', '40'],
  },
  {
    name: 'long results, of which the first is late',
    everyWay: true,
    flow: 'nodes:\n  - { type: http, url: "API/long/{{id}}", map: [text] }\n',
    input: `id\n${rows(5, (id) => `${id}\n`)}`,
  },
  { name: 'a stop at a failure', flow: get(', on_error: stop'), input: few },
  { name: 'a maximum of errors', everyWay: true, flow: get(), input: few, args: ['--max-errors', '0', '--concurrency', '1'] },
];

/** Responds according to the path and the number of earlier requests for it. Every run therefore gets the same responses. */
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
    } else if (kind === 'long') setTimeout(() => send({ text: `${id}${'\u{1f600}'.repeat(400_000)}` }), id === '1' ? 500 : 0);
    else if (kind === 'lists') send({ items: Array.from({ length: Number(id) % 4 }, (_, n) => ({ n })) });
    else if (kind === 'none') send({ items: Number(id) % 2 === 0 ? [] : [{ n: 1 }] });
    else if (kind === 'pages') {
      const page = Number(path.split('page=')[1] ?? 1);
      send({ items: [{ n: `${id}.${page}` }], next: page < 3 ? `/pages/${id}?page=${page + 1}` : null });
    } else if (kind === 'batch') {
      const { ids } = JSON.parse(body) as { ids: string[] };
      send({ found: ids.map((found) => ({ id: found, name: `name ${found}` })) });
    } else if (kind === 'refused') {
      response.statusCode = 422;
      response.end('not these');
    } else if (kind === 'cursors') {
      const cursor = Number(path.split('cursor=')[1] || 0);
      send({ items: [{ n: `${id}.${cursor}` }], next: cursor < Number(id) % 3 ? cursor + 1 : null });
    } else if (kind === 'v1') {
      const message = { role: 'assistant', content: '{"a":"x"}' };
      send({ choices: [{ message, finish_reason: 'stop' }], usage: { prompt_tokens: 20, completion_tokens: 5 } });
    } else if (kind === 'jobs') send({ state: times % 3 === 0 ? 'done' : 'busy' });
    else send({ name: `name ${id}`, price: Number(id) });
  };
}

/** The result of a run: everything that must be the same in one process and in several. */
interface Outcome {
  readonly code: number | null;
  readonly output: string;
  /** Undefined if there is no errors file. */
  readonly errors: string | undefined;
  readonly requests: number;
  readonly credits: number;
}

/** A case with its own servers. `text` is the flow with their addresses. */
interface StartedCase {
  readonly text: string;
  readonly server: HttpServer;
  /**
   * Returns the content of a file without the differences that are allowed between two runs: the server's port and, with --unordered, the
   * order.
   */
  read(file: string): string;
}

async function started({ flow, args = [] }: Case): Promise<StartedCase> {
  const server = await httpServer(answers());
  const tools = flow.includes('MCP') ? (await listeningServer('streamableHttp')).url : '';
  return {
    text: flow.replaceAll('API', server.origin).replace('MCP', tools),
    server,
    read(file) {
      const text = file.replaceAll(server.origin, 'API');
      return args.includes('--unordered') ? text.split('\n').sort().join('\n') : text;
    },
  };
}

async function outcome(one: Case, more: readonly string[]): Promise<Outcome & { readonly stderr: string }> {
  const { input = '', file = 'in.csv', args = [], out = 'out.csv' } = one;
  const { text, server, read } = await started(one);
  const isStdin = file === '-';
  const place = await workplace({ 'flow.yaml': text, ...(!isStdin && { [file]: input }) });
  const command = ['run', 'flow.yaml', '--in', file, '--out', out, '--quiet', ...args, ...more];
  const { code, stdout, stderr } = await place.automate(command, isStdin ? { stdin: input } : {});
  const errors = (await place.files()).find((name) => name.includes('errors.'));
  return {
    code,
    output: read(out === '-' ? stdout : await place.read(out)),
    errors: errors && read(await place.read(errors)),
    requests: server.requests.length,
    credits: (await readCredits(place)).spent,
    stderr,
  };
}

const plainOutcomes = new Map<Case, Outcome>();

/** Returns the result of the case in one process. */
async function plainOutcome(one: Case): Promise<Outcome> {
  const found = plainOutcomes.get(one);
  if (found) return found;
  const { stderr: _, ...plain } = await outcome(one, []);
  plainOutcomes.set(one, plain);
  return plain;
}

/** Compares two results. After an early stop, only the exit code must be equal, because different records may have been begun. */
function expectSame({ stderr = '', ...found }: Outcome & { readonly stderr?: string }, plain: Outcome, name: string): void {
  if (plain.code === 5) expect(found.code, `${name}: ${stderr}`).toBe(5);
  else expect(found, `${name}: ${stderr}`).toEqual(plain);
}

/** The cases for the server: it reads no stdin, and has no query for some options. */
const servedCases = cases.filter(
  ({ everyWay, file, args, query, out, type }) =>
    (everyWay || type) && file !== '-' && out !== 'out.xlsx' && (!args || query !== undefined),
);

describe('a run with --workers 2', () => {
  // The workers of a server or a queue stay for all cases, but these workers start for each case.
  const left = cases.filter((one) => one.everyWay && !servedCases.includes(one));
  test.each(hasRedis ? left : cases)('has the same result as in one process: $name', async (one) => {
    expectSame(await outcome(one, ['--workers', '2']), await plainOutcome(one), one.name);
  });
});

describe.skipIf(!hasRedis)(`a run with --queue${unlessRedis}`, () => {
  test('has the same result as in one process, for each flow and input', async () => {
    const { url } = await redisServer();
    const place = await workplace({});
    // A worker in its own process serves the records of many runs.
    const worker = place.start(['worker', '--queue', url, '--quiet']);
    workerHere(place, ['worker', '--queue', url, '--quiet']);
    for (const one of cases) expectSame(await outcome(one, ['--queue', url]), await plainOutcome(one), one.name);
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });
});

const types: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};

/** Runs the cases one after another on a server. */
async function expectSameOverServer(args: readonly string[], begin: (server: Serving) => void = () => undefined): Promise<void> {
  const all = await Promise.all(servedCases.map(async (one) => ({ one, ...(await started(one)) })));
  const server = await serving(Object.fromEntries(all.map(({ text }, index) => [`case-${index}`, text])), { args });
  begin(server);
  const key = server.key({ rate: '60000/min' });
  const answer = (path: string, init: RequestInit = {}) => server.send(path, { key, ...init });
  for (const [index, { one, server: api, read }] of all.entries()) {
    const { input = '', file = 'in.csv', out = 'out.csv', query = '' } = one;
    const kind = (name: string) => name.replace('.gz', '').split('.')[1] as string;
    const headers = {
      'content-type': one.type ?? (types[kind(file)] as string),
      ...(file.endsWith('.gz') && { 'content-encoding': 'gzip' }),
    };
    const made = await answer(`/v1/flows/case-${index}/runs?out=${kind(out)}&${query}`, {
      method: 'POST',
      headers,
      body: new Uint8Array(Buffer.from(input)),
    });
    expect(made.status, `${one.name}: ${await made.clone().text()}`).toBe(202);
    let run = (await made.json()) as RunShape;
    while (run.ended_at === null) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      run = (await (await answer(`/v1/runs/${run.id}`)).json()) as RunShape;
    }
    const errors = await answer(run.links.errors);
    const found = {
      code: run.exit_code,
      output: read(await (await answer(run.links.output)).text()),
      errors: errors.ok ? read(await errors.text()) : undefined,
      requests: api.requests.length,
      credits: run.credits,
    };
    expectSame(found, await plainOutcome(one), one.name);
  }
  expect((await server.end()).code).toBe(0);
}

describe('a run on the server', () => {
  test('has the same result with --workers 2 as in one process, for each flow and input', () => expectSameOverServer(['--workers', '2']));

  test.skipIf(!hasRedis)(`has the same result with --queue as in one process, for each flow and input${unlessRedis}`, async () => {
    const { url } = await redisServer();
    await expectSameOverServer(['--queue', url], ({ place }) => {
      for (let worker = 1; worker <= 2; worker++) workerHere(place, ['worker', '--queue', url, '--quiet']);
    });
  });
});

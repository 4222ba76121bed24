import { mkdir, readFile, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { type Handler, httpServer, json } from '../helpers/http-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--report', 'run.html'];

/** The API: id 3 is not found, the other ids have a name, and all except id 2 have a plan. */
const people: Handler = ({ path }, response) => {
  const id = Number(path.split('/')[1]);
  if (id === 3) return json(response, { error: 'no such user' }, 404);
  json(response, { name: `Ada ${id}`, ...(id === 2 ? {} : { plan: 'pro' }) });
};

interface Given {
  readonly handler?: Handler;
  readonly rows?: string;
  readonly node?: string;
  readonly name?: string;
}

/** Creates a workplace with a flow over four records, and starts its server. */
async function placeWith({ handler = people, rows = 'id\n1\n2\n3\n4\n', node = '', name = 'people' }: Given = {}) {
  const server = await httpServer(handler);
  const map = 'map: { name: name, plan: plan }, concurrency: 1, retry: { max: 0 }';
  const flow = `name: ${JSON.stringify(name)}\nnodes:\n  - { type: http, id: ask, url: "${server.origin}/{{id}}", ${map} ${node} }\n`;
  return { server, place: await workplace({ 'flow.yaml': flow, 'rows.csv': rows }) };
}

/** Returns the text of a report without markup and styles. */
async function textOf(place: Workplace): Promise<string> {
  const html = (await place.read('run.html')).replace(/<style>.*?<\/style>/s, '');
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<');
}

describe('automate run --report', () => {
  test('writes a report of the run as one HTML page', async () => {
    const { place } = await placeWith();
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(4);
    expect(stderr).toContain('\n  report: run.html\n');
    const text = await textOf(place);
    for (const part of [
      ...['people finished, some failed', 'rows.csv to out.csv , failed records in out.errors.csv', '4 records', '3 written', '1 failed'],
      ...['ask http 404 the server answered 404: {"error":"no such user"} 1 3', '200 3 75 %', '404 1 25 %', 'Credits 4'],
      ...['name name 3 of 3', 'plan plan 2 of 3', 'Paused for rate limits never'],
      ...['automate run flow.yaml --in rows.csv --out out.csv --report run.html', 'retry failed records automate retry out.csv'],
    ])
      expect(text).toContain(part);
    expect(await place.files()).toEqual(['flow.yaml', 'out.csv', 'out.csv.automate', 'out.errors.csv', 'rows.csv', 'run.html']);
  });

  test('escapes HTML markup from records, servers and flows', async () => {
    const markup = '<script>alert(1)</script>';
    const { place } = await placeWith({
      name: markup,
      handler: (_, response) => json(response, { error: markup }, 404),
      rows: `id\n${markup}\n`,
    });
    await place.automate([...run, '--keep-going', '--set', `note=${markup}`]);
    expect(await place.read('run.html')).not.toContain('<script');
    expect((await place.read('run.html')).match(/&lt;script>alert/g)?.length).toBeGreaterThanOrEqual(4);
  });

  test('masks secrets', async () => {
    const { place } = await placeWith({
      node: ', auth: { type: api_key, query: key, credential: key }',
      handler: ({ path }, response) => json(response, { error: `bad key in ${path}` }, 404),
    });
    const env = { AUTOMATE_CREDENTIAL_KEY: 'canary-7f3a' };
    const { code } = await place.automate([...run, '--keep-going', '--set', 'note=canary-7f3a'], { env });
    expect(code).toBe(4);
    const html = await place.read('run.html');
    expect(html).not.toContain('canary');
    expect(await textOf(place)).toContain('bad key in /1?key=***');
    expect(html).toContain('note=***');
  });

  test('says why a run stopped early, and after --resume covers the whole run', async () => {
    let isMissing = true;
    const { place } = await placeWith({
      handler: (request, response) => (isMissing ? json(response, {}, 404) : people(request, response)),
    });
    expect((await place.automate([...run, '--max-errors', '1'])).code).toBe(5);
    expect(await textOf(place)).toContain('people stopped');
    expect(await textOf(place)).toContain('stopped: too many records failed');
    expect(await textOf(place)).toContain('resume with automate run flow.yaml');
    isMissing = false;
    expect((await place.automate([...run, '--max-errors', '9', '--resume'])).code).toBe(4);
    const text = await textOf(place);
    for (const part of [
      '4 records',
      '1 written',
      '3 failed',
      '2 from earlier parts of the run',
      '1 record in 1 group, this part of the run',
    ])
      expect(text).toContain(part);
  });

  test('writes the report even if an error ends the run', async () => {
    const { place } = await placeWith({ rows: 'id\n1\n2\n"3\n' });
    expect((await place.automate(run)).code).toBe(6);
    const text = await textOf(place);
    expect(text).toContain('people failed');
    expect(text).toMatch(/ended by an error rows\.csv:4/);
    expect(text).toContain('2 records');
  });

  test('covers the whole output after a retry', async () => {
    let isMissing = true;
    const { place } = await placeWith({
      handler: (request, response) =>
        isMissing || !request.path.startsWith('/3') ? people(request, response) : json(response, { name: 'Ada 3' }),
    });
    await place.automate(run);
    isMissing = false;
    expect((await place.automate(['retry', 'out.csv', '--report', 'run.html'])).code).toBe(0);
    const text = await textOf(place);
    for (const part of ['people finished', '4 written', '0 failed', '3 from earlier parts of the run', 'automate retry out.csv'])
      expect(text).toContain(part);
  });

  test('leaves the old page in place until the new page is complete', async () => {
    let during = '';
    const place = await workplace({ 'rows.csv': 'id\n1\n', 'run.html': 'yesterday' });
    const server = await httpServer(async () => {
      during = await readFile(place.path('run.html'), 'utf8');
    });
    await place.write('flow.yaml', `nodes:\n  - { type: http, url: "${server.origin}/{{id}}" }\n`);
    const { ino } = await stat(place.path('run.html'));
    expect((await place.automate(run)).code).toBe(0);
    expect(during).toBe('yesterday');
    expect(await textOf(place)).toContain('1 written');
    expect((await stat(place.path('run.html'))).ino).not.toBe(ino);
  });

  test('writes at most 300 KB, however many failures and fields the run has', async () => {
    const answer: Handler = ({ path }, response) => {
      const id = Number(path.split('/')[1]);
      // Without 429, which would slow the run down.
      const status = id % 100 === 29 ? 428 : 400 + (id % 100);
      json(response, { error: `${id}${'"'.repeat(500)}` }, id % 100 === 0 ? 200 : status);
    };
    const { place, server } = await placeWith({ handler: answer, rows: `id\n${Array.from({ length: 1000 }, (_, id) => id).join('\n')}\n` });
    const map = Array.from({ length: 300 }, (_, index) => `${'field'.repeat(15)}${index}: ${'path.'.repeat(15)}${index}`);
    const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", retry: { max: 0 }, map: { ${map.join(', ')} } }]\n`;
    await place.write('flow.yaml', flow);
    expect((await place.automate([...run, '--keep-going'])).code).toBe(4);
    expect(await textOf(place)).toContain('more groups with fewer records');
    expect((await stat(place.path('run.html'))).size).toBeLessThan(300_000);
  });

  test('shows pauses that a server asked for', async () => {
    let asked = 0;
    const limited: Handler = (request, response) =>
      asked++ === 0 ? response.writeHead(429, { 'Retry-After': '1' }).end() : people(request, response);
    const { place, server } = await placeWith({ handler: limited, rows: 'id\n1\n', node: '' });
    await place.write('flow.yaml', `nodes:\n  - { type: http, url: "${server.origin}/{{id}}" }\n`);
    await place.automate(run);
    const text = await textOf(place);
    expect(text).toMatch(/Paused for rate limits 1 s once/);
    expect(text).toContain(`${server.origin} 429 1 1 s`);
    expect(text).toContain('429 1 50 %');
  });
});

describe('a report file that cannot be written', () => {
  test.each([
    ['no/run.html', 'the folder no does not exist'],
    ['flow.yaml/run.html', 'flow.yaml is not a folder'],
    ['folder', 'it is a folder'],
    ['/dev/null', 'expected a file, found a pipe or a device'],
  ])('is refused before anything is sent: %s', async (path, reason) => {
    const { place, server } = await placeWith();
    await mkdir(place.path('folder'));
    const { code, stderr } = await place.automate([...run.slice(0, -1), path, '--summary', 'summary.json']);
    expect([code, stderr]).toEqual([74, `automate: ${path} cannot be written: ${reason}\n`]);
    expect(server.requests).toEqual([]);
    expect(await place.files()).toEqual(['flow.yaml', 'folder', 'rows.csv']);
  });

  test.each([
    [['--report', '-'], "option '--report <file>' argument '-' is invalid. expected the name of a file, found \"-\""],
    [['--report', 'run.html', '--dry-run'], '--dry-run has no report: leave --report out'],
    [['--report', 'out.csv'], 'the report out.csv is the output\n  choose another file with --report'],
  ])('is refused with the options %s', async (args, message) => {
    const { place, server } = await placeWith();
    const { code, stderr } = await place.automate([...run.slice(0, -2), ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(server.requests).toEqual([]);
    expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
  });
});

import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { pagesServer } from '../helpers/pages-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

/** Returns a flow that requests pages of the form `{ items: [{ n }] }`. `more`: other options of the node, each as `, name: value`. */
const flowOf = (origin: string, paginate: string, more = '') =>
  `nodes: [{ id: pages, type: http, url: "${origin}/x?size=2", paginate: { ${paginate} }, map: { n: "items[].n" }${more} }]\n`;

/** Returns the items of a page; the number of the first page is 1. */
const itemsOf = (page: number) => [{ n: page * 2 - 1 }, { n: page * 2 }];

/** Runs a flow over one record. `answer` responds to the request for a page; the number of the first page is 1. */
async function ending(paginate: string, answer: (page: number, path: string, response: ServerResponse) => unknown, more = '') {
  const server = await httpServer(({ path }, response) => answer(server.requests.length, path, response));
  const place = await workplace({ 'flow.yaml': flowOf(server.origin, paginate, more), 'rows.csv': 'id\na\n' });
  const { code, stderr } = await place.automate(run, { env: { AUTOMATE_CREDENTIAL_KEY: 's3cret-key' } });
  const rows = (await place.read('out.csv')).split('\n').slice(1, -1);
  const errors = code === 4 ? await place.read('out.errors.csv') : '';
  return { code, stderr, rows, errors, server, paths: server.requests.map(({ path }) => path) };
}

const sixRows = [1, 2, 3, 4, 5, 6].map((n) => `a,${n}`);

describe('paging', () => {
  test('ends when a response has no next link', async () => {
    const { code, rows, paths, stderr } = await ending('type: next_url, path: next', (page, _, response) =>
      json(response, { items: itemsOf(page), next: page < 3 ? `/y?p=${page + 1}` : null }),
    );
    expect([code, rows, paths]).toEqual([0, sixRows, ['/x?size=2', '/y?p=2', '/y?p=3']]);
    expect(stderr).toContain('1 read, 1 written, 0 failed in ');
    expect(stderr).toContain('mapped by pages from 3 pages:');
  });

  test('ends when a response has no next cursor', async () => {
    const { code, rows, paths } = await ending('type: cursor, path: next, param: after', (page, _, response) =>
      json(response, { items: itemsOf(page), ...(page < 3 && { next: `c&${page}` }) }),
    );
    expect([code, rows, paths]).toEqual([0, sixRows, ['/x?size=2', '/x?size=2&after=c%261', '/x?size=2&after=c%262']]);
  });

  test('ends when no Link header has rel=next, however many Link headers a response has', async () => {
    const { code, rows, paths } = await ending('type: link_header', (page, _, response) => {
      response.setHeader('Link', ['<https://example.com/>; rel="license"', `<?p=${page - 1}>; rel="prev"`]);
      if (page < 3) response.appendHeader('link', `<?p=${page + 1}>; title="on, and on"; rel="next last"`);
      json(response, { items: itemsOf(page) });
    });
    expect([code, rows, paths]).toEqual([0, sixRows, ['/x?size=2', '/x?p=2', '/x?p=3']]);
  });

  test('warns if a page is shorter than the step by which the offset grows', async () => {
    const answer = (page: number, _: string, response: ServerResponse) => json(response, { items: page < 4 ? itemsOf(page) : [] });
    const { code, rows, stderr } = await ending('type: offset, size: 50, items: items', answer);
    expect([code, rows]).toEqual([0, sixRows]);
    expect(stderr).toContain(
      '  warning: page 1 of record 1 has 2 items, fewer than the size of 50, and is not the last (pages, 1 record)\n' +
        '    if the server sends at most 2 at once, items were skipped: set size: 2, or request 50 per page\n',
    );
  });

  test.each([
    ['type: page, items: items', ['page=1', 'page=2', 'page=3', 'page=4']],
    ['type: offset, size: 2, items: items', ['offset=0', 'offset=2', 'offset=4', 'offset=6']],
  ])('ends at an empty page with the settings "%s"', async (paginate, asked) => {
    const answer = (page: number, _: string, response: ServerResponse) => json(response, { items: page < 4 ? itemsOf(page) : [] });
    const { code, rows, paths } = await ending(paginate, answer);
    expect([code, rows, paths]).toEqual([0, sixRows, asked.map((query) => `/x?size=2&${query}`)]);
  });

  test('fails a record that has more pages than `max`', async () => {
    const { code, rows, errors, paths } = await ending('type: next_url, path: next, max: 4', (page, _, response) =>
      json(response, { items: itemsOf(page), next: `?p=${page + 1}` }),
    );
    expect([code, rows, paths.length]).toEqual([4, [], 4]);
    expect(errors).toContain('a,pages,mapping,,there are more than 4 pages (paginate.max),1,1');
  });

  test('fails the record if the server sends the same page twice', async () => {
    const same = await ending('type: page, items: items', (_page, _path, response) => json(response, { items: itemsOf(1) }));
    expect([same.code, same.rows, same.paths.length]).toEqual([4, [], 2]);
    expect(same.errors).toContain('page 2 is the same as page 1: does the server know the parameter ""page""?');
    const round = await ending('type: next_url, path: next', (page, _, response) =>
      json(response, { items: itemsOf(page), next: page % 2 ? '?p=2' : '?size=2' }),
    );
    expect([round.code, round.rows, round.paths.length]).toEqual([4, [], 2]);
    expect(round.errors).toContain('page 2 leads to page 1 again: /x?size=2');
  });

  test('fails the record if the server refuses one of its pages', async () => {
    const { code, rows, errors, paths } = await ending('type: next_url, path: next', (page, _, response) =>
      page === 3 ? response.writeHead(410).end() : json(response, { items: itemsOf(page), next: `?p=${page + 1}` }),
    );
    expect([code, rows, paths.length]).toEqual([4, [], 3]);
    expect(errors).toContain('a,pages,http,410,page 3: the server answered 410 (2 pages had been read),1,1');
  });

  test('fails the record, and sends nothing more, if the next link leads to a different origin', async () => {
    const other = await httpServer((_, response) => json(response, { items: itemsOf(2) }));
    const answer = (page: number, _: string, response: ServerResponse) =>
      json(response, { items: itemsOf(page), next: `${other.origin}/y` });
    const more = ', auth: { type: bearer, credential: key }, headers: { X-A: b }';
    const refused = await ending('type: next_url, path: next', answer, more);
    expect([refused.code, refused.rows, refused.paths.length, other.requests.length]).toEqual([4, [], 1, 0]);
    expect(refused.errors).toContain(`the next page is ${other.origin}/y, a different origin`);
    const followed = await ending('type: next_url, path: next', answer, `${more}, follow: any`);
    expect([followed.code, followed.rows, followed.paths.length]).toEqual([0, ['a,1', 'a,2', 'a,3', 'a,4'], 1]);
    expect(other.requests).toMatchObject([{ method: 'GET', path: '/y', body: '' }]);
    expect(JSON.stringify(other.requests)).not.toMatch(/s3cret|x-a/);
  });

  test('sends an API key in the query only once, even if the next link repeats it', async () => {
    const { code, paths } = await ending(
      'type: next_url, path: next',
      (page, path, response) =>
        json(response, { items: itemsOf(page), next: page < 3 ? `${path.replace(/&p=\d/, '')}&p=${page + 1}` : null }),
      ', auth: { type: api_key, query: key, credential: key }',
    );
    expect(code).toBe(0);
    expect(paths.map((path) => path.match(/key=s3cret-key/g)?.length)).toEqual([1, 1, 1]);
  });

  test('retries a page whose response was truncated', async () => {
    const { code, rows, paths } = await ending(
      'type: cursor, path: next, param: c',
      (count, path, response) => {
        if (count === 2) return response.writeHead(200, { 'content-length': '1000' }).write('{"items":', () => response.destroy());
        const page = Number(/c=(\d)/.exec(path)?.[1] ?? 1);
        return json(response, { items: itemsOf(page), next: page < 3 ? page + 1 : null });
      },
      ', retry: { backoff: 10ms }',
    );
    expect([code, rows, paths]).toEqual([0, sixRows, ['/x?size=2', '/x?size=2&c=2', '/x?size=2&c=2', '/x?size=2&c=3']]);
  });
});

test('a dry run plans between one and `max` pages for each record', async () => {
  const { origin, requests } = await pagesServer({ pages: 2, rows: 2 });
  const flow = flowOf(origin, 'type: cursor, path: next, param: c, max: 7');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\na\nb\n' });
  const { code, stdout } = await place.automate([...run, '--dry-run']);
  expect([code, requests.length]).toEqual([0, 0]);
  expect(stdout).toContain('2 at least, 2 expected, 14 at most');
});

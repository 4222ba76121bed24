import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSchema, createYoga } from 'graphql-yoga';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, json } from '../helpers/http-server.ts';

const ids = Array.from({ length: 7 }, (_, index) => `i${index + 1}`);
const allRows = ['n', ...ids, ''].join('\n');

/** Runs a flow with one node and without an input. */
async function runNode(node: string) {
  const place = await workplace({ 'flow.yaml': `nodes:\n  - type: http\n    ${node.trim().split('\n').join('\n    ')}\n` });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--no-input', '--out', 'out.csv']);
  const errors = code === 4 ? JSON.parse(await place.read('out.errors.ndjson'))._error.message : '';
  return { code, stderr, errors, out: code === 0 ? await place.read('out.csv') : '' };
}

const parametersOf = (path: string) => new URL(path, 'http://127.0.0.1').searchParams;

describe("paging through CouchDB's changes, with a cursor on every page", () => {
  /** Starts a server that answers `/db/_changes` like CouchDB: the `last_seq` of an empty page equals the requested one. */
  const couch = () =>
    httpServer(({ path }, response) => {
      const since = Number(parametersOf(path).get('since') ?? 0);
      const results = ids.slice(since, since + 3).map((id, index) => ({ seq: since + index + 1, id, changes: [{ rev: '1-a' }] }));
      json(response, { results, last_seq: results.at(-1)?.seq ?? since, pending: Math.max(0, ids.length - since - 3) });
    });
  const paged = ({ origin }: HttpServer, more = '') => `url: ${origin}/db/_changes?limit=3
map: { n: "results[].id" }
paginate: { type: cursor, path: last_seq, param: since${more} }`;

  test.each([
    ['', 4],
    [', items: results', 4],
    [', until: body.pending == 0', 3],
  ])('ends with the last change if paginate is { ...%s }', async (more, requests) => {
    const server = await couch();
    expect(await runNode(paged(server, more))).toMatchObject({ code: 0, out: allRows });
    expect(server.requests.length).toBe(requests);
  });

  test('fails the record if a page has the same cursor as the page before', async () => {
    const server = await httpServer((_, response) => json(response, { results: [{ id: 'a' }], last_seq: 7 }));
    const { code, errors } = await runNode(paged(server));
    expect(code).toBe(4);
    expect(errors).toContain('page 2 has the cursor of page 1; if that was the last page, set paginate.items to the path of the list');
  });
});

describe('paging through the lists of json-server', () => {
  const pageOf = (path: string) => Number(parametersOf(path).get('_page') ?? 1);

  test('ends with an empty list, because the whole response is the list', async () => {
    const server = await httpServer(({ path }, response) =>
      json(
        response,
        ids.slice((pageOf(path) - 1) * 3, pageOf(path) * 3).map((id) => ({ id })),
      ),
    );
    const { code, out } = await runNode(
      `url: ${server.origin}/items?_limit=3\nmap: { n: "$body[].id" }\npaginate: { type: page, param: _page, items: $body }`,
    );
    expect([code, out, server.requests.length]).toEqual([0, allRows, 4]);
  });

  test('ends when the `until` condition is true, before the server repeats its last page', async () => {
    const server = await httpServer(({ path }, response) => {
      const page = Math.min(pageOf(path), 3);
      response.setHeader('X-Total-Count', 7);
      json(
        response,
        ids.slice((page - 1) * 3, page * 3).map((id) => ({ id })),
      );
    });
    const node = (until: string) =>
      `url: ${server.origin}/items?_limit=3\nmap: { n: "$body[].id" }\npaginate: { type: page, param: _page, items: $body${until} }`;
    const { code, out } = await runNode(node(', until: size(body) < 3'));
    expect([code, out, server.requests.length]).toEqual([0, allRows, 3]);
    const { errors } = await runNode(node(''));
    expect(errors).toContain('page 4 is the same as page 3: does the server know the parameter "_page"? (4 pages had been read)');
  });

  test('requires `items`, and the message shows the values to use', async () => {
    const { code, stderr } = await runNode('url: https://api.example.com/items\nmap: [$body]\npaginate: { type: page, param: _page }');
    expect(code).toBe(3);
    expect(stderr).toContain('the key "items" is missing\n');
    expect(stderr).toContain('expected the path of the list on a page: data.items, or $body if the answer is the list');
  });
});

describe('paging through a GraphQL connection', () => {
  /** Starts a GraphQL API whose list has edges with cursors. Returns its origin and the bodies of its requests. */
  async function graphql(): Promise<{ origin: string; bodies: unknown[] }> {
    const bodies: unknown[] = [];
    const typeDefs = `
      type Item { id: String! }
      type PageInfo { endCursor: String hasNextPage: Boolean! }
      type Items { nodes: [Item!]! pageInfo: PageInfo! }
      type Query { items(first: Int!, after: String): Items! }`;
    const items = (_: unknown, { first, after }: { first: number; after?: string | null }) => {
      const start = after ? ids.indexOf(after) + 1 : 0;
      const nodes = ids.slice(start, start + first).map((id) => ({ id }));
      return { nodes, pageInfo: { endCursor: nodes.at(-1)?.id ?? null, hasNextPage: start + first < ids.length } };
    };
    const remember = { onParams: ({ params }: { params: unknown }) => void bodies.push(params) };
    const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers: { Query: { items } } }), logging: false, plugins: [remember] });
    const server = createServer(yoga).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
  }
  const query =
    'query($first: Int!, $after: String) { items(first: $first, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } }';
  const node = (origin: string, more = '') => `method: POST
url: ${origin}/graphql
body: { query: "${query}", variables: { first: 3 } }
map: { n: "data.items.nodes[].id" }
paginate: { type: cursor, in: body, param: variables.after, path: data.items.pageInfo.endCursor${more} }`;

  test.each([
    [', until: body.data.items.pageInfo.hasNextPage == false', 3],
    ['', 4],
    [', items: data.items.nodes', 4],
  ])('uses a cursor in the request body if paginate is { ...%s }', async (more, requests) => {
    const { origin, bodies } = await graphql();
    expect(await runNode(node(origin, more))).toMatchObject({ code: 0, out: allRows });
    expect(bodies.map((body) => (body as { variables: unknown }).variables)).toEqual(
      [{ first: 3 }, { first: 3, after: 'i3' }, { first: 3, after: 'i6' }, { first: 3, after: 'i7' }].slice(0, requests),
    );
  });

  test('is refused as a problem of the flow if the body is not JSON', async () => {
    const { code, stderr } = await runNode(
      'url: https://a.example.com\nmap: [a]\npaginate: { type: cursor, in: body, param: variables.after, path: a }',
    );
    expect(code).toBe(3);
    expect(stderr).toContain('in: body puts the cursor into a JSON body, and the node has none');
  });
});

describe('paging through a list with has_more and starting_after', () => {
  const stripe = () =>
    httpServer(({ path }, response) => {
      const after = parametersOf(path).get('starting_after');
      const start = after === null ? 0 : ids.indexOf(after) + 1;
      json(response, { object: 'list', data: ids.slice(start, start + 3).map((id) => ({ id })), has_more: start + 3 < ids.length });
    });
  const node = ({ origin }: HttpServer, more = '') => `url: ${origin}/v1/customers?limit=3
map: { n: "data[].id" }
paginate: { type: cursor, from: last_item, path: id, param: starting_after, items: data${more} }`;

  test('continues after the last item, and ends when has_more is false', async () => {
    const server = await stripe();
    expect(await runNode(node(server, ', until: body.has_more == false'))).toMatchObject({ code: 0, out: allRows });
    const paths = server.requests.map(({ path }) => path);
    expect(paths).toEqual(['', '&starting_after=i3', '&starting_after=i6'].map((query) => `/v1/customers?limit=3${query}`));
  });

  test('ends at an empty list if `until` is not set', async () => {
    const server = await stripe();
    expect(await runNode(node(server))).toMatchObject({ code: 0, out: allRows });
    expect(server.requests.length).toBe(4);
  });

  test('fails the record if the server ignores the paging parameter', async () => {
    const server = await stripe();
    const { code, errors } = await runNode(node(server).replace('starting_after', 'after'));
    expect([code, server.requests.length]).toEqual([4, 2]);
    expect(errors).toContain('page 2 has items and the cursor of page 1: does the server know the parameter "after"?');
  });

  test('says how many pages were read before a page failed', async () => {
    const server = await httpServer(({ path }, response) =>
      path.includes('starting_after=i2')
        ? json(response, {}, 404)
        : json(response, { data: [{ id: path.includes('i1') ? 'i2' : 'i1' }], has_more: true }),
    );
    const { code, errors } = await runNode(node(server));
    expect(code).toBe(4);
    expect(errors).toContain('page 3: the server answered 404: {} (2 pages had been read)');
  });
});

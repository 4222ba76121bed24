import { describe, expect, test } from 'vitest';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

const connections = `connections:
  api: { type: http, base_url: "https://api.example.com/v2", auth: { type: bearer, credential: key } }
  other: { type: http, base_url: "https://other.example.com", auth: { type: bearer, credential: key2 } }
`;

const start = '{ id: start, type: http, connection: api, method: POST, url: /jobs, map: { job: $headers.location } }';
const get = '{ id: get, type: http, connection: api, url: "{{job}}", map: { state: state } }';

/** Runs a flow in which the first answer has the address of a job. */
async function run(nodes: string, location: string, records: Record<string, unknown>[] = [{ id: 1 }]) {
  const http = ({ path }: SentRequest) => (path.endsWith('/jobs') ? { headers: { location } } : { body: { state: 'done' } });
  const { requests, failures } = await runFlow(`${connections}nodes: [${nodes}]\n`, records, { http });
  return { last: requests[1] && [requests[1].url, requests[1].auth?.[0]?.credential], failures, requests };
}

describe('a URL that is one field from an answer of the same connection', () => {
  test.each([
    ['/v2/jobs/1?full=true#top', 'https://api.example.com/v2/jobs/1?full=true'],
    ['/other/äö', 'https://api.example.com/other/%C3%A4%C3%B6'],
    ['/a%20b', 'https://api.example.com/a%20b'],
    ['https://api.example.com/jobs/1', 'https://api.example.com/jobs/1'],
    ['https://API.example.com:443/jobs/1', 'https://api.example.com/jobs/1'],
    ['http://api.example.com/jobs/1?a=b', 'https://api.example.com/jobs/1?a=b'],
    ['HTTP://Api.example.com:80', 'https://api.example.com/'],
    ['7', 'https://api.example.com/v2/7'],
  ])('can be a path or an address of its server, and gets the credential: %s', async (location, url) => {
    const { last, failures } = await run(`${start}, ${get}`, location);
    expect([last, failures]).toEqual([[url, 'key'], []]);
  });

  test('can be read in a poll', async () => {
    const poll = `{ type: poll, until: state == "done", nodes: [${get}] }`;
    expect((await run(`${start}, ${poll}`, '/jobs/1')).last).toEqual(['https://api.example.com/jobs/1', 'key']);
  });

  test('gets no credential if it leads to another server', async () => {
    const { last } = await run(`${start}, ${get}`, 'https://files.example.com/1');
    expect(last).toEqual(['https://files.example.com/1', undefined]);
  });

  test.each([
    ['', 'found nothing'],
    ['//evil.example.com/x', 'which names a host'],
    ['///x', 'which names a host'],
    ['/\\evil.example.com', 'contains a backslash'],
    ['/jobs/../admin', 'must not be "." or ".."'],
    ['/jobs/%2e%2E/admin', 'must not be "." or ".."'],
    ['https://api.example.com/../admin', 'must not be "." or ".."'],
    ['/a\tb', 'the control character U+0009'],
    ['/a b', 'contains a space'],
    ['https://me:pw@api.example.com/x', 'must not contain a user name'],
    ['http://me@api.example.com/x', 'must not contain a user name'],
    ['http://api.example.com:8080/x', 'expected an https URL'],
    ['http://other.example.com/x', 'expected an https URL'],
  ])('is refused, and nothing is sent: %j', async (location, message) => {
    const { failures, requests } = await run(`${start}, ${get}`, location);
    expect(failures).toMatchObject([{ node: 'get', class: 'request', message: expect.stringContaining(message) }]);
    expect(requests).toHaveLength(1);
  });
});

describe('a field that begins with / is a segment of the path under base_url', () => {
  const segment = ['https://api.example.com/v2/%2Fx', 'key'];
  const record = [{ id: 1, job: '/x' }];

  test.each([
    ['if the input has filled it', `{ id: start, type: http, connection: api, method: POST, url: /jobs }, ${get}`],
    ['if another connection has filled it', `${start.replace('api', 'other')}, ${get}`],
    ['if a set node has filled it', `${start}, { type: set, fields: { job: "/x" } }, ${get}`],
    ['if a node with when has filled it', `${start.replace('map', 'when: id == 1, map')}, ${get}`],
    ['if a node with on_error: keep has filled it', `${start.replace('map', 'on_error: keep, map')}, ${get}`],
    ['if a poll with when has filled it', `{ type: poll, until: true, when: id == 1, nodes: [${start}] }, ${get}`],
  ])('%s', async (_, nodes) => {
    expect((await run(nodes, '/x', record)).last).toEqual(segment);
  });

  test('if it is only a part of the URL', async () => {
    const { last } = await run(`${start}, ${get.replace('{{job}}', '/jobs/{{job}}')}`, '/x');
    expect(last).toEqual(['https://api.example.com/v2/jobs/%2Fx', 'key']);
  });
});

describe('a link from https to http on the same host', () => {
  const pages = '{ id: start, type: http, connection: api, url: /jobs, map: { n: "items[].n" }, paginate: { type: next_url, path: next } }';

  test.each(['http://api.example.com/p2', 'http://api.example.com:80/p2'])('is followed over https: %s', async (next) => {
    const http = ({ path }: SentRequest) => ({ body: { items: [{ n: 1 }], ...(path.endsWith('/jobs') && { next }) } });
    for (const more of ['', ', allow_http: true']) {
      const flow = `${connections.replace(' } }\n  other', ` }${more} }\n  other`)}nodes: [${pages}]\n`;
      const { requests, failures } = await runFlow(flow, [{ id: 1 }], { http });
      expect([requests[1]?.url, requests[1]?.auth, failures]).toEqual(['https://api.example.com/p2', requests[0]?.auth, []]);
    }
  });

  test.each(['http://api.example.com:8080/p2', 'http://www.example.com/p2'])('with another port or host is refused: %s', async (next) => {
    const http = () => ({ body: { items: [{ n: 1 }], next } });
    const { requests, failures } = await runFlow(`${connections}nodes: [${pages}]\n`, [{ id: 1 }], { http });
    expect([requests.length, failures]).toEqual([1, [expect.objectContaining({ message: expect.stringContaining('a different origin') })]]);
  });
});

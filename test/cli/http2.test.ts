import { constants } from 'node:http2';
import { describe, expect, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { http2Server, reply } from '../helpers/http2-server.ts';

const { authority, good } = makeCertificates();

const flowTo = (origin: string, node = '', connection = 'http2: true') => `connections:
  push: { type: http, base_url: "${origin}"${connection === '' ? '' : `, ${connection}`} }
nodes:
  - { type: http, connection: push, url: "/devices/{{id}}", map: { name: name }${node} }
`;

const answer = (path: string) => JSON.stringify({ name: `device ${path}` });

function pushServer() {
  return http2Server((seen) => reply(seen, answer(seen.path), { 'content-type': 'application/json' }), good);
}

const rows = `id\n${Array.from({ length: 20 }, (_, index) => index + 1).join('\n')}\n`;
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--cacert', authority];

describe('http2: true', () => {
  test('runs a flow over one HTTP/2 connection, in the order of the input', async () => {
    const server = await pushServer();
    const place = await workplace({ 'flow.yaml': flowTo(server.origin), 'rows.csv': rows });
    const { code, stderr } = await place.automate([...run, '--verbose']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^record 1 {2}http-1 {2}GET https:\S+\/devices\/1 {2}200 {2}HTTP\/2 {2}\d+ ms$/m);
    expect((await place.read('out.csv')).split('\n').slice(1, -1)).toEqual(
      Array.from({ length: 20 }, (_, index) => `${index + 1},device /devices/${index + 1}`),
    );
    expect(server.sessions).toHaveLength(1);
  });

  test('works with workers', async () => {
    const server = await pushServer();
    const place = await workplace({ 'flow.yaml': flowTo(server.origin), 'rows.csv': rows });
    const { code, stderr } = await place.automate([...run, '--verbose', '--workers', '2']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/ 200 {2}HTTP\/2 {2}\d+ ms$/m);
  });

  test('says that HTTP/1.1 was spoken if the server offers nothing else', async () => {
    const server = await httpServer((seen, response) => response.end(answer(seen.path)), good);
    const place = await workplace({ 'flow.yaml': flowTo(server.origin), 'rows.csv': 'id\n1\n' });
    const { stderr } = await place.automate([...run, '--verbose']);
    expect(stderr).toMatch(/ 200 {2}HTTP\/1\.1 {2}\d+ ms$/m);
  });

  test.each([
    ['on a node', ', http2: true', '', true],
    ['on a connection, unless the node says otherwise', ', http2: false', 'http2: true', false],
    ['nowhere', '', '', false],
  ])('is used if it is set %s', async (_where, node, connection, isUsed) => {
    const server = await http2Server((seen) => reply(seen, answer(seen.path)), { ...good, allowHTTP1: true });
    server.onHttp1((request, response) => response.end(answer(request.url ?? '')));
    const place = await workplace({ 'flow.yaml': flowTo(server.origin, node, connection), 'rows.csv': 'id\n1\n' });
    expect((await place.automate(run)).code).toBe(0);
    expect(server.requests).toHaveLength(isUsed ? 1 : 0);
  });

  test('must be true or false, and the message says where it is not', async () => {
    const place = await workplace({ 'flow.yaml': flowTo('https://api.example.com', '', 'http2: yes please'), 'rows.csv': rows });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toMatch(/flow\.yaml:2:\d+: .*true or false/);
  });

  test('test-request says which version was spoken, and --curl asks curl for it', async () => {
    const server = await pushServer();
    const place = await workplace({ 'flow.yaml': flowTo(server.origin), 'rows.csv': rows });
    const trial = ['test-request', 'flow.yaml', '--set', 'id=7', '--cacert', authority];
    expect((await place.automate(trial)).stdout).toMatch(/^200 over HTTP\/2 in \d+ ms, /m);
    expect(JSON.parse((await place.automate([...trial, '--json'])).stdout)).toMatchObject({ response: { http_version: '2' } });
    expect((await place.automate([...trial, '--curl', '--no-send'])).stdout).toMatch(/ --http2 https:/);
  });

  test('connections add saves it, and connections test says which version was spoken', async () => {
    const server = await pushServer();
    const place = await workplace({});
    const added = await place.automate(['connections', 'add', 'http', 'push', '--base-url', server.origin, '--auth', 'none', '--http2']);
    expect(added.stdout).toMatch(/^ {4}http2: true$/m);
    const tested = await place.automate(['connections', 'test', 'push', '--cacert', authority]);
    expect(tested.stderr).toMatch(/: 200 over HTTP\/2 in /);
    const tools = await place.automate(['connections', 'add', 'mcp', 'files', '--url', 'https://mcp.example.com', '--http2']);
    expect(tools).toMatchObject({ code: 2, stderr: expect.stringMatching('--http2 is for connections of type http') });
  });

  test('retries a request that was on a broken connection as `retry` says', async () => {
    const server = await http2Server((seen) => {
      if (server.requests.length === 1) server.breakConnection(0);
      else reply(seen, answer(seen.path));
    }, good);
    const flow = flowTo(server.origin, ', retry: { max: 1, backoff: 10ms, on: [network] }');
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n' });
    expect((await place.automate(run)).code).toBe(0);
    expect(server.requests).toHaveLength(2);
  });

  test('sends a form with a file again, from its start, if the server has not processed it', async () => {
    let isFirst = true;
    const server = await http2Server(
      (seen) => reply(seen, JSON.stringify({ name: seen.body.length })),
      good,
      (stream) => {
        if (!isFirst) return false;
        isFirst = false;
        stream.once('data', () => stream.close(constants.NGHTTP2_REFUSED_STREAM));
        return true;
      },
    );
    const flow = flowTo(server.origin, ', method: POST, form: { photo: { file: photo.png } }, retry: { max: 0 }');
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n', 'photo.png': 'p'.repeat(500_000) });
    const { code, stderr } = await place.automate(run);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(server.requests.map(({ body }) => body.match(/p+/g)?.at(-1)?.length)).toEqual([500_000]);
    expect(server.requests[0]?.headers['content-length']).toBe(String(server.requests[0]?.body.length));
  });
});

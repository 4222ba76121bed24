import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

/** Runs a flow dry over CSV rows, with a server that must not be asked. */
async function dryRun(nodes: (origin: string) => string, rows: string, args: readonly string[] = []) {
  const server = await answeringServer(() => ({}));
  const place = await workplace({ 'flow.yaml': `nodes:\n${nodes(server.origin)}`, 'rows.csv': rows });
  const finished = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--dry-run', ...args]);
  expect(server.requests).toEqual([]);
  expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
  return { ...finished, origin: server.origin };
}

const one = (origin: string) => `  - { type: http, url: "${origin}/users/{{id}}", auth: { type: bearer, credential: none-is-needed } }\n`;

describe('a dry run sends nothing, writes nothing, and tells', () => {
  test('how many records, actions and credits, and the first request', async () => {
    const { code, stdout, stderr, origin } = await dryRun(one, 'id,b\n1,x\n2,y\n3,z\n');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`records: 3
actions: 3
credits: 3

first request:
  GET ${origin}/users/1
  Authorization: Bearer ***
`);
  });

  test('the body and the headers, too', async () => {
    const post = (origin: string) =>
      `  - { type: set, fields: { who: "{{id}}!" } }\n  - { type: http, method: POST, url: "${origin}/", headers: { X-Id: "{{id}}" }, body: { who: "{{who}}" } }\n`;
    const { stdout } = await dryRun(post, 'id\n"a""b"\n');
    expect(stdout).toContain('\n  Content-Type: application/json\n  X-Id: a"b\n  \n  {"who":"a\\"b!"}\n');
  });

  test('the least and the most, where that depends on the answers', async () => {
    const two = (origin: string) => `${one(origin)}  - { type: http, url: "${origin}/two" }\n`;
    expect((await dryRun(two, 'id\n1\n2\n')).stdout).toContain('actions: 2 to 4\ncredits: 2 to 4\n');
    const expanding = (origin: string) =>
      `  - { type: http, url: "${origin}/{{id}}", map: ["a[].b"] }\n  - { type: http, url: "${origin}/two" }\n`;
    expect((await dryRun(expanding, 'id\n1\n2\n')).stdout).toContain('actions: 2 to any number of\n');
  });

  test('what passes by costs nothing', async () => {
    const some = (origin: string) => `  - { type: http, url: "${origin}/{{id}}", when: "id != '2'" }\n`;
    expect((await dryRun(some, 'id\n1\n2\n3\n')).stdout).toContain('records: 3\nactions: 2\ncredits: 2\n');
  });

  test('with --skip and --limit, of those records', async () => {
    const { stdout, origin } = await dryRun(one, 'id\n1\n2\n3\n4\n', ['--skip', '1', '--limit', '2']);
    expect(stdout).toMatch(/^records: 2\n/);
    expect(stdout).toContain(`GET ${origin}/users/2\n`);
  });

  test('which records would fail before anything is sent', async () => {
    const { code, stdout } = await dryRun(one, 'id\n1\n..\n2,3\n');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^records: 3\nactions: 1\ncredits: 1\n2 records would fail before anything is sent; the first: record 2: .*"\.\."/,
    );
  });

  test('that no request would be sent', async () => {
    expect((await dryRun(() => '  - { type: set, fields: { a: b } }\n', 'id\n1\n')).stdout).toMatch(
      /actions: 0\ncredits: 0\n\nno request would be sent\n$/,
    );
  });

  test('every problem of the flow', async () => {
    const { code, stdout, stderr } = await dryRun((origin) => `  - { type: http, url: "${origin}/{{idd}}" }\n`, 'id\n1\n');
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('no record has a field "idd" here; did you mean "id"?');
  });

  test('nothing that could steer a terminal', async () => {
    const post = (origin: string) => `  - { type: http, method: POST, url: "${origin}/", body: { id: "{{id}}" } }\n`;
    const { stdout } = await dryRun(post, 'id\n\u009b31m\u202e\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });
});

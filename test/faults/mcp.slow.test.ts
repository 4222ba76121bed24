import { describe, expect, test } from 'vitest';
import { idRows, idsTo } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { commandConnection, listeningServer, oddServer, stdioServers } from '../helpers/mcp/servers.ts';
import { childrenOf, isAlive } from '../helpers/processes.ts';

function workFlow(words: readonly string[], more = ''): string {
  return `connections:
  odd: ${commandConnection(words)}
nodes:
  - { id: work, type: mcp, connection: odd, tool: work, arguments: { id: "{{id}}" }, map: { said: text }${more} }
`;
}

const echoFlow = (connection: string, more = '') => `connections:
  every: ${connection}
nodes:
  - { id: say, type: mcp, connection: every, tool: echo, arguments: { message: "hi {{id}}" }, concurrency: 16, map: { said: text }${more} }
`;

/** Starts a run of 1,000 records whose MCP server is killed when it has answered for record 300. */
async function killedRun(more: string) {
  const api = await httpServer((_, response) => {
    for (const pid of childrenOf(child.pid as number)) process.kill(pid, 'SIGKILL');
    json(response, {});
  });
  const flow = echoFlow(commandConnection(stdioServers.everything), more);
  const place = await workplace({
    'flow.yaml': `${flow}  - { type: http, when: id == "300", url: "${api.origin}" }\n`,
    'rows.csv': idRows(1000),
  });
  const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--events', 'events.ndjson']);
  const ended = await finished;
  expect(api.requests).toHaveLength(1);
  return { ...ended, place };
}

describe('a run through an MCP server at concurrency 16', () => {
  const rowsOf = (count: number) =>
    `id,said\n${idsTo(count)
      .map((id) => `${id},Echo: hi ${id}\n`)
      .join('')}`;
  const all = rowsOf(1000);

  test('writes all records in order even if the server is killed and restarts', async () => {
    const { code, stderr, place } = await killedRun(', retry: { backoff: 50ms }');
    expect(stderr).toContain('1000 read, 1000 written, 0 failed'.replaceAll('1000', '1,000'));
    expect(code).toBe(0);
    expect(await place.read('out.csv')).toBe(all);
    const events = (await place.read('events.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.filter(({ type }) => type === 'server-started')).toHaveLength(2);
    expect(events.filter(({ type }) => type === 'server-lost')).toMatchObject([
      { connection: 'every', reason: expect.stringContaining('it was killed by SIGKILL') },
    ]);
  });

  test('writes or fails each record if the server is killed and retry.max is 0', async () => {
    const { code, stderr, place } = await killedRun(', retry: { max: 0 }');
    expect(code).toBe(4);
    expect(stderr).toMatch(/1,000 read, 9\d\d written, \d+ failed/);
    const written = await place.read('out.csv');
    const failed = await place.read('out.errors.csv');
    const ids = `${written}${failed}`.match(/^\d+/gm)?.map(Number) ?? [];
    expect(ids.toSorted((a, b) => a - b)).toEqual(idsTo(1000));
    expect(all).toContain(written.split('\n')[1]);
    for (const line of failed.trim().split('\n').slice(1)) expect(line).toMatch(/,say,network,,.*it was killed by SIGKILL/);
  });

  test.each(['streamableHttp', 'sse'] as const)('writes all records in order over the transport %s', async (transport) => {
    const { url } = await listeningServer(transport);
    const place = await workplace({ 'flow.yaml': echoFlow(`{ type: mcp, url: "${url}" }`), 'rows.csv': idRows(200) });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(stderr).toContain('200 read, 200 written, 0 failed');
    expect(code).toBe(0);
    expect(await place.read('out.csv')).toBe(rowsOf(200));
  });
});

describe('a run with a faulty MCP server', () => {
  const run = async (manner: string, more = '', count = 6) => {
    const place = await workplace({ 'flow.yaml': workFlow(oddServer(manner), more), 'rows.csv': idRows(count) });
    const result = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--errors', 'errors.csv']);
    const read = (name: string) => place.read(name).catch(() => '');
    return { ...result, out: await read('out.csv'), errors: await read('errors.csv') };
  };

  test('restarts a server only once if it always dies, and then fails every record', async () => {
    const { code, stderr, out, errors } = await run('always-dies', ', concurrency: 1, retry: { max: 0 }');
    expect(code).toBe(4);
    expect(stderr).toContain('6 read, 0 written, 6 failed');
    expect(out).toBe('id,said\n');
    expect(errors).toMatch(/it ended with exit code 7/);
    expect(errors).toMatch(/was restarted once, and is not restarted again/);
  });

  test('fails only the record during whose call the server hangs, with a timeout', async () => {
    const hanging = 'id: hang, type: mcp, connection: odd, tool: work, arguments: { id: "{{id}}" }, timeout: 300ms, retry: { max: 0 }';
    const { code, out, errors } = await run('hangs', `, when: id != "2" }\n  - { ${hanging}, when: id == "2"`);
    expect(code).toBe(4);
    expect(out).toBe('id,said\n1,ok 1\n3,ok 3\n4,ok 4\n5,ok 5\n6,ok 6\n');
    expect(errors).toMatch(/^2,hang,timeout,,.*within 300 ms/m);
  });

  test('ignores invalid lines that the server prints between its messages', async () => {
    expect(await run('junk')).toMatchObject({ code: 0, out: 'id,said\n1,ok 1\n2,ok 2\n3,ok 3\n4,ok 4\n5,ok 5\n6,ok 6\n' });
  });

  test('fails only the record for which the server sends more than 10 MB', async () => {
    const { code, out, errors } = await run('huge', ', concurrency: 1, retry: { max: 0 }');
    expect(code).toBe(4);
    expect(out).toBe('id,said\n1,ok 1\n3,ok 3\n4,ok 4\n5,ok 5\n6,ok 6\n');
    expect(errors).toMatch(/^2,work,network,,.*it sent a message of more than 10 MB/m);
  });

  test('ends early with the reason if the server cannot be started', async () => {
    const { code, stderr } = await run('dies-at-once', ', retry: { max: 0 }', 100);
    expect(code).toBe(5);
    expect(stderr).toMatch(/none of the first \d+ attempts was answered: .*it ended with exit code 3; it said: cannot find the database/);
  });

  test("does not pass the server's terminal escape sequences on to the terminal", async () => {
    const place = await workplace({ 'flow.yaml': workFlow(oddServer('fails')), 'rows.csv': idRows(1) });
    const words = oddServer('escapes').join(' ');
    const results = [
      await place.automate(['connections', 'add', 'mcp', 'evil', '--command', words]),
      await place.automate(['connections', 'tools', 'evil']),
      await place.automate(['connections', 'tools', 'evil', '--json']),
      await place.automate(['nodes']),
      await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--errors', 'errors.csv']),
    ];
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 4]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    for (const { stdout, stderr } of results) expect(stdout + stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    expect(results[1]?.stdout).toContain('evil');
    expect(results[4]?.stderr).toContain('no such customer: 1');
  });
});

test('automate cancels the MCP calls in progress at a second Ctrl-C, and leaves no process', async () => {
  const place = await workplace({ 'rows.csv': idRows(3) });
  await place.write('flow.yaml', workFlow(oddServer('hangs', place.path('note')), ', timeout: 60s'));
  const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  await expect.poll(() => place.read('note').catch(() => '')).toContain('call 2');
  child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 200));
  child.kill('SIGINT');
  const { code, stderr } = await finished;
  expect(code).toBe(130);
  expect(stderr).toContain('--resume');
  await expect.poll(() => place.read('note')).toMatch(/cancelled \d/);
  const pid = Number(/started (\d+)/.exec(await place.read('note'))?.[1]);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

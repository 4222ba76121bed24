import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LocalTransport } from '../../../src/io/mcp/local/local-transport.ts';
import { oddServer, stdioServers } from '../../helpers/mcp/servers.ts';
import { local, secretOf, useTools } from '../../helpers/mcp/tools.ts';

describe('server-everything over stdio', () => {
  const connection = local(stdioServers.everything);

  test('says what it is', async () => {
    const { tools, events } = useTools();
    const server = await tools.server(connection);
    expect(server).toMatchObject({ name: 'mcp-servers/everything', protocol: '2025-11-25', transport: 'stdio' });
    expect(server.tools.map(({ name }) => name)).toContain('echo');
    expect(events).toEqual([
      {
        type: 'server-started',
        connection: 'tools',
        server: `${server.name} ${server.version}`,
        protocol: '2025-11-25',
        tools: server.tools.length,
      },
    ]);
  });

  test('plain text is { text }', async () => {
    const { call } = useTools();
    expect(await call(connection, 'echo', { message: 'hi' })).toEqual({
      kind: 'tool',
      isError: false,
      text: 'Echo: hi',
      body: { text: 'Echo: hi' },
    });
  });

  test('structuredContent is the answer itself', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-structured-content', { location: 'New York' })).toMatchObject({
      body: { temperature: 33, conditions: 'Cloudy', humidity: 82 },
    });
  });

  test('links and images stand beside the text', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-resource-links', { count: 2 })).toMatchObject({
      body: { text: expect.any(String), links: [{ uri: expect.any(String) }, {}] },
    });
    expect(await call(connection, 'get-tiny-image')).toMatchObject({
      body: { images: [{ mimeType: 'image/png', data: expect.any(String) }] },
    });
  });

  test('arguments that do not fit are refused here', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-sum', { a: 1, b: '2' })).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringContaining('b must be number'),
    });
    expect(await call(connection, 'get-sum', { a: 1 })).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringContaining("must have required property 'b'"),
    });
    expect(await call(connection, 'sum')).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringContaining('has no tool "sum"; it has echo'),
    });
  });

  test('a tool tells how far it is', async () => {
    const { call } = useTools();
    const told: number[] = [];
    await call(
      connection,
      'trigger-long-running-operation',
      { duration: 0.2, steps: 2 },
      { progressed: ({ progress }) => told.push(progress) },
    );
    expect(told).toEqual([1, 2]);
  });

  test('a call that takes too long is a timeout', async () => {
    const { call } = useTools();
    const failure = await call(connection, 'trigger-long-running-operation', { duration: 20, steps: 2 }, { timeoutMs: 300 });
    expect(failure).toMatchObject({
      kind: 'timeout',
      retryable: true,
      message: expect.stringContaining('no answer of the MCP server "tools" within 300 ms'),
    });
  });

  test('sees the usual variables and those that are passed, and no others', async () => {
    const environment = { ...process.env, PASSED: 'yes', KEPT_BACK: 'no', AUTOMATE_VAULT_PASSPHRASE: 'no' };
    const { call } = useTools({ environment, secrets: new Map([['key', secretOf('s3cret')]]) });
    const answer = await call(
      local(stdioServers.everything, { passEnv: ['PASSED', 'ABSENT'], credentials: { API_KEY: 'key' } }),
      'get-env',
    );
    expect(answer).toMatchObject({ body: { PASSED: 'yes', API_KEY: 's3cret', PATH: process.env.PATH } });
    for (const name of ['KEPT_BACK', 'AUTOMATE_VAULT_PASSPHRASE', 'ABSENT'])
      expect((answer as { body: object }).body).not.toHaveProperty(name);
  });

  test('a secret that is bound to hosts is not passed', async () => {
    const { call } = useTools({ secrets: new Map([['key', secretOf('s3cret', ['api.example.com'])]]) });
    const failure = await call(local(stdioServers.everything, { credentials: { API_KEY: 'key' } }), 'get-env');
    expect(failure).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringMatching(/may be sent to api.example.com only: a server started here gets no secret that is bound to hosts/),
    });
  });
});

test('server-filesystem: a file is read, and one outside is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
  await writeFile(join(folder, 'a.txt'), 'hello');
  const { call } = useTools();
  const connection = local(stdioServers.filesystem(folder));
  expect(await call(connection, 'read_text_file', { path: join(folder, 'a.txt') })).toMatchObject({
    isError: false,
    body: { content: 'hello' },
  });
  expect(await call(connection, 'read_text_file', { path: '/etc/passwd' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('Access denied'),
  });
});

test('server-memory: lists of objects go out and come back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
  const { call } = useTools({ environment: { ...process.env, MEMORY_FILE_PATH: join(folder, 'memory.json') } });
  const connection = local(stdioServers.memory, { passEnv: ['MEMORY_FILE_PATH'] });
  await call(connection, 'create_entities', { entities: [{ name: 'Anna', entityType: 'person', observations: ['likes tea'] }] });
  expect(await call(connection, 'search_nodes', { query: 'tea' })).toMatchObject({
    body: { entities: [{ name: 'Anna', observations: ['likes tea'] }] },
  });
});

describe('a server that is odd', () => {
  test('every page of its tools is asked for', async () => {
    const { tools } = useTools();
    expect((await tools.server(local(oddServer('pages')))).tools.map(({ name }) => name)).toEqual(
      [1, 2, 3, 4, 5].map((page) => `tool-${page}`),
    );
  });

  test('its pings are answered; what only a model or a person could give is declined', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('asks')), 'work', { id: '1' })).toMatchObject({
      text: '{} refused -32601 refused -32601 refused -32601',
    });
  });

  test('tools that change are learned', async () => {
    const { call, events } = useTools();
    const connection = local(oddServer('changes'));
    expect(await call(connection, 'new-1', { id: '1' })).toMatchObject({ kind: 'request' });
    await call(connection, 'work', { id: '1' });
    await expect.poll(() => events.at(-1), { timeout: 5000 }).toEqual({ type: 'server-tools', connection: 'tools', tools: 3 });
    expect(await call(connection, 'new-1', { id: '1' })).toMatchObject({ isError: false });
  });

  test('what it logs is told', async () => {
    const { call, events } = useTools();
    await call(local(oddServer('tells')), 'work', { id: '1' });
    expect(events).toContainEqual({ type: 'server-log', connection: 'tools', level: 'warning', logger: 'db', message: 'slow ' });
  });

  test('a refusal of the protocol is a failure of the tool', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('refuses')), 'work', { id: '1' })).toMatchObject({
      kind: 'tool',
      retryable: false,
      message: expect.stringMatching(/^the server refused the call: .*bad 1 \(-32602\)$/),
    });
  });

  test('an answer that is none is a parse failure', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('wrong')), 'work', { id: '1' })).toMatchObject({ kind: 'parse' });
  });

  test('an answer that is nested too deep to be written again is a parse failure', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('deep')), 'work', { id: '1' });
    expect(failure).toMatchObject({ kind: 'parse', retryable: false, message: 'the answer is nested more than 1000 deep' });
  });

  test('one that is lost is started again once', async () => {
    const { call, events } = useTools();
    const connection = local(oddServer('dies'));
    const outcomes: string[] = [];
    for (let id = 1; id <= 10; id++) {
      const outcome = await call(connection, 'work', { id: String(id) });
      outcomes.push('text' in outcome ? outcome.text : `${outcome.kind} ${outcome.retryable}`);
    }
    expect(outcomes).toEqual([
      'ok 1',
      'ok 2',
      'ok 3',
      'network true',
      'ok 5',
      'ok 6',
      'ok 7',
      'network true',
      'network false',
      'network false',
    ]);
    expect(events.map(({ type }) => type)).toEqual(['server-started', 'server-lost', 'server-started', 'server-lost']);
    expect(await call(connection, 'work', { id: '11' })).toMatchObject({
      sent: false,
      message: expect.stringMatching(/it ended with exit code 7\nthe server of "tools" was started again once/),
    });
  });

  test('one that cannot start says why', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('dies-at-once')), 'work')).toMatchObject({
      kind: 'network',
      sent: false,
      message: 'no connection to the MCP server "tools": it ended with exit code 3; it said: cannot find the database',
    });
    expect(await useTools().call(local(['no-such-program']), 'work')).toMatchObject({
      kind: 'network',
      retryable: false,
      message: expect.stringContaining('there is no program "no-such-program"'),
    });
  });

  test('one that is never ready is given up', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('never-ready'), { startTimeoutMs: 300 }), 'work');
    expect(failure).toMatchObject({ kind: 'timeout', sent: false, message: expect.stringContaining('(start_timeout)') });
  });

  test('one whose list of tools never ends is given up', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('endless'), { startTimeoutMs: 400 }), 'work');
    expect(failure).toMatchObject({
      kind: 'timeout',
      sent: false,
      message: 'the MCP server "tools" is not ready within 0.4 s (start_timeout)',
    });
  });

  test('one that never lists its tools is given up, and its end is not taken for the reason', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('never-lists'), { startTimeoutMs: 400 }), 'work')).toMatchObject({
      kind: 'timeout',
      sent: false,
      message: 'the MCP server "tools" is not ready within 0.4 s (start_timeout)',
    });
  });

  test('what is wrong in the schema of a tool is passed over', async () => {
    const { tools, call } = useTools();
    const connection = local(oddServer('untidy'));
    const { tools: found } = await tools.server(connection);
    expect(found[0]?.inputSchema).toEqual({
      type: 'object',
      properties: { id: {}, a: {}, b: { anyOf: [{}, { type: ['string'] }] }, c: {}, d: { type: 'array', items: {} }, e: {}, f: {} },
      required: ['id'],
    });
    expect(await call(connection, 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
  });

  test('junk on its stdout is passed over', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('junk')), 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
  });

  test('JSON on its stdout that is no message is passed over', async () => {
    const { call } = useTools();
    const connection = local(oddServer('scalars'));
    expect(await call(connection, 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
    expect(await call(connection, 'work', { id: '2' })).toMatchObject({ text: 'ok 2' });
  });

  test('an answer that is no message is told where no other comes', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('no-message')), 'work', { id: '1' }, { timeoutMs: 300 })).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('it wrote to stdout what is no message: {"id":9,"result":{}}'),
    });
  });

  test('of what it says at length only whole lines are told: nobody would know the end of a secret', async () => {
    const key = 'canary-0123456789-abcdefghij';
    const { call } = useTools({ secrets: new Map([['key', secretOf(key)]]) });
    const failure = await call(local(oddServer('dies-loudly'), { credentials: { KEY: 'key' } }), 'work');
    expect(failure).toMatchObject({ message: expect.stringMatching(/it ended with exit code 3; it said: cannot start$/) });
  });

  test('many messages wait for one that does not read, and none waits for its end', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => warnings.push(name);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)'] as const;
    const transport = new LocalTransport({ command: [...command], passEnv: [], credentials: {} }, {});
    await transport.start();
    const note = { jsonrpc: '2.0', method: 'notifications/test', params: { text: 'x'.repeat(100_000) } } as const;
    const sent = Promise.all(Array.from({ length: 20 }, () => transport.send(note)));
    transport.kill();
    await sent;
    await transport.close();
    expect(warnings).toEqual([]);
  });

  test('what it has started and ignores SIGTERM ends with it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
    const note = join(folder, 'note');
    const { tools, call } = useTools();
    await call(local(oddServer('leaves-a-child', note)), 'work', { id: '1' });
    const pid = Number(/child (\d+)/.exec(await readFile(note, 'utf8'))?.[1]);
    expect(isAlive(pid)).toBe(true);
    await (tools as unknown as { close(): Promise<void> }).close();
    await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
  });

  test('a message beyond all measure ends it', async () => {
    const { call } = useTools();
    const connection = local(oddServer('huge'));
    expect(await call(connection, 'work', { id: '2' })).toMatchObject({
      kind: 'network',
      message: expect.stringContaining('it sent a message of more than 10 MB'),
    });
    expect(await call(connection, 'work', { id: '3' })).toMatchObject({ text: 'ok 3' });
  });

  test('nothing is left of it when it is closed, nor of what is in flight when all is given up', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
    const note = join(folder, 'note');
    const { tools, call } = useTools();
    const connection = local(oddServer('hangs', note));
    const pending = call(connection, 'work', { id: '2' });
    await expect.poll(() => readFile(note, 'utf8').catch(() => ''), { timeout: 5000 }).toContain('call 2');
    tools.abort();
    expect(await pending).toMatchObject({ kind: expect.any(String) });
    await expect.poll(() => readFile(note, 'utf8'), { timeout: 5000 }).toContain('cancelled');
    await (tools as unknown as { close(): Promise<void> }).close();
    const pid = Number(/started (\d+)/.exec(await readFile(note, 'utf8'))?.[1]);
    await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

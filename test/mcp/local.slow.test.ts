import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SecretCommands } from '../../src/credentials/command-secrets.ts';
import { LocalTransport } from '../../src/mcp/local-transport.ts';
import { oddServer, stdioServers } from '../helpers/mcp/servers.ts';
import { local, secretOf, useTools } from '../helpers/mcp/tools.ts';
import { isAlive } from '../helpers/processes.ts';

describe('a local MCP server', () => {
  const connection = local(stdioServers.everything);

  test('is described by its name, protocol version and tools, and its start is reported', async () => {
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

  test('returns plain text as { text }', async () => {
    const { call } = useTools();
    expect(await call(connection, 'echo', { message: 'hi' })).toEqual({
      kind: 'tool',
      isError: false,
      text: 'Echo: hi',
      body: { text: 'Echo: hi' },
    });
  });

  test('returns the structuredContent of a result that has it', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-structured-content', { location: 'New York' })).toMatchObject({
      body: { temperature: 33, conditions: 'Cloudy', humidity: 82 },
    });
  });

  test('returns links and images in addition to the text', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-resource-links', { count: 2 })).toMatchObject({
      body: { text: expect.any(String), links: [{ uri: expect.any(String) }, {}] },
    });
    expect(await call(connection, 'get-tiny-image')).toMatchObject({
      body: { images: [{ mimeType: 'image/png', data: expect.any(String) }] },
    });
  });

  test("gets no call if the arguments do not match the tool's schema", async () => {
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

  test('can report the progress of a call', async () => {
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

  test('causes a timeout if the call is slow', async () => {
    const { call } = useTools();
    const failure = await call(connection, 'trigger-long-running-operation', { duration: 20, steps: 2 }, { timeoutMs: 300 });
    expect(failure).toMatchObject({
      kind: 'timeout',
      retryable: true,
      message: expect.stringContaining('no answer from the MCP server "tools" within 300 ms'),
    });
  });

  test('gets no environment variables except common variables and the variables of its connection', async () => {
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

  test("gets the secret that a credential's command prints", async () => {
    const clock = { now: () => 0, sleepUntil: () => new Promise<void>(() => {}) };
    const key = { name: 'key', env: 'default', backend: 'vault', setAt: '2030-01-01T00:00:00.000Z', command: 'echo s3cret' } as const;
    const commands = new SecretCommands({ environment: process.env, clock }).forUser([key], '/home', { hide: () => {} });
    const { call } = useTools({ commands });
    const answer = await call(local(stdioServers.everything, { credentials: { API_KEY: 'key' } }), 'get-env');
    expect(answer).toMatchObject({ body: { API_KEY: 's3cret' } });
  });

  test('does not get a secret that is limited to certain hosts', async () => {
    const { call } = useTools({ secrets: new Map([['key', secretOf('s3cret', ['api.example.com'])]]) });
    const failure = await call(local(stdioServers.everything, { credentials: { API_KEY: 'key' } }), 'get-env');
    expect(failure).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringMatching(
        /can be sent only to api.example.com: a server that is started on this machine does not get a secret that is bound to hosts/,
      ),
    });
  });
});

test('the MCP server server-filesystem reads a file in its folder, and refuses a file elsewhere', async () => {
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

test('the MCP server server-memory accepts and returns lists of objects', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
  const { call } = useTools({ environment: { ...process.env, MEMORY_FILE_PATH: join(folder, 'memory.json') } });
  const connection = local(stdioServers.memory, { passEnv: ['MEMORY_FILE_PATH'] });
  await call(connection, 'create_entities', { entities: [{ name: 'Anna', entityType: 'person', observations: ['likes tea'] }] });
  expect(await call(connection, 'search_nodes', { query: 'tea' })).toMatchObject({
    body: { entities: [{ name: 'Anna', observations: ['likes tea'] }] },
  });
});

describe('an unusual local MCP server', () => {
  test('can list its tools on several pages', async () => {
    const { tools } = useTools();
    expect((await tools.server(local(oddServer('pages')))).tools.map(({ name }) => name)).toEqual(
      [1, 2, 3, 4, 5].map((page) => `tool-${page}`),
    );
  });

  test('gets responses to its pings, and is refused if it requests a model or user input', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('asks')), 'work', { id: '1' })).toMatchObject({
      text: '{} refused -32601 refused -32601 refused -32601',
    });
  });

  test('is asked for its tools once more when it reports that its tools have changed', async () => {
    const { call, events } = useTools();
    const connection = local(oddServer('changes'));
    expect(await call(connection, 'new-1', { id: '1' })).toMatchObject({ kind: 'request' });
    await call(connection, 'work', { id: '1' });
    await expect.poll(() => events.at(-1)).toEqual({ type: 'server-tools', connection: 'tools', tools: 3 });
    expect(await call(connection, 'new-1', { id: '1' })).toMatchObject({ isError: false });
  });

  test('can send log messages, which are reported', async () => {
    const { call, events } = useTools();
    await call(local(oddServer('tells')), 'work', { id: '1' });
    expect(events).toContainEqual({ type: 'server-log', connection: 'tools', level: 'warning', logger: 'db', message: 'slow ' });
  });

  test('makes a call fail with the class "tool" if it refuses the call', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('refuses')), 'work', { id: '1' })).toMatchObject({
      kind: 'tool',
      retryable: false,
      message: expect.stringMatching(/^the server refused the call: .*bad 1 \(-32602\)$/),
    });
  });

  test('makes a call fail with the class "parse" if its result is not valid', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('wrong')), 'work', { id: '1' })).toMatchObject({ kind: 'parse' });
  });

  test('makes a call fail with the class "parse" if its result is nested too deeply to be written', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('deep')), 'work', { id: '1' });
    expect(failure).toMatchObject({ kind: 'parse', retryable: false, message: 'the answer is nested more than 1000 deep' });
  });

  test('is restarted, but only once, if it ends', async () => {
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
      message: expect.stringMatching(/it ended with exit code 7\nthe server of "tools" was restarted once/),
    });
  });

  test('makes calls fail with the reason if it cannot be started', async () => {
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

  test('makes calls fail after start_timeout if it never becomes ready', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('never-ready'), { startTimeoutMs: 300 }), 'work');
    expect(failure).toMatchObject({ kind: 'timeout', sent: false, message: expect.stringContaining('(start_timeout)') });
  });

  test('makes calls fail after start_timeout if its list of tools never ends', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('endless'), { startTimeoutMs: 400 }), 'work');
    expect(failure).toMatchObject({
      kind: 'timeout',
      sent: false,
      message: 'the MCP server "tools" was not ready within 400 ms (start_timeout)',
    });
  });

  test('makes calls fail after start_timeout if it never lists its tools', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('never-lists'), { startTimeoutMs: 400 }), 'work')).toMatchObject({
      kind: 'timeout',
      sent: false,
      message: 'the MCP server "tools" was not ready within 400 ms (start_timeout)',
    });
  });

  test('can have schemas with malformed parts, which are ignored, and its tools can still be called', async () => {
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

  test('can write non-JSON text to stdout', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('junk')), 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
  });

  test('can write JSON that is not a message to stdout', async () => {
    const { call } = useTools();
    const connection = local(oddServer('scalars'));
    expect(await call(connection, 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
    expect(await call(connection, 'work', { id: '2' })).toMatchObject({ text: 'ok 2' });
  });

  test('makes a call time out with a message that quotes its last invalid output line', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('no-message')), 'work', { id: '1' }, { timeoutMs: 3000 })).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('it wrote something to stdout that is not a message: {"id":9,"result":{}}'),
    });
  });

  test('is quoted with only the complete lines of its stderr, because part of a secret cannot be masked', async () => {
    const key = 'canary-0123456789-abcdefghij';
    const { call } = useTools({ secrets: new Map([['key', secretOf(key)]]) });
    const failure = await call(local(oddServer('dies-loudly'), { credentials: { KEY: 'key' } }), 'work');
    expect(failure).toMatchObject({ message: expect.stringMatching(/it ended with exit code 3; it said: cannot start$/) });
  });

  test('causes no Node.js warning if it leaves many messages unread', async () => {
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

  test('leaves no child process when it is stopped, not even a child that ignores SIGTERM', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
    const note = join(folder, 'note');
    const { tools, call } = useTools();
    await call(local(oddServer('leaves-a-child', note)), 'work', { id: '1' });
    const pid = Number(/child (\d+)/.exec(await readFile(note, 'utf8'))?.[1]);
    expect(isAlive(pid)).toBe(true);
    await (tools as unknown as { close(): Promise<void> }).close();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test('is stopped if it sends a message of more than 10 MB', async () => {
    const { call } = useTools();
    const connection = local(oddServer('huge'));
    expect(await call(connection, 'work', { id: '2' })).toMatchObject({
      kind: 'network',
      message: expect.stringContaining('it sent a message of more than 10 MB'),
    });
    expect(await call(connection, 'work', { id: '3' })).toMatchObject({ text: 'ok 3' });
  });

  test('is told to cancel its calls when the run is aborted, and is stopped when its connection is closed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
    const note = join(folder, 'note');
    const { tools, call } = useTools();
    const connection = local(oddServer('hangs', note));
    const pending = call(connection, 'work', { id: '2' });
    await expect.poll(() => readFile(note, 'utf8').catch(() => '')).toContain('call 2');
    tools.abort();
    expect(await pending).toMatchObject({ kind: expect.any(String) });
    await expect.poll(() => readFile(note, 'utf8')).toContain('cancelled');
    await (tools as unknown as { close(): Promise<void> }).close();
    const pid = Number(/started (\d+)/.exec(await readFile(note, 'utf8'))?.[1]);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

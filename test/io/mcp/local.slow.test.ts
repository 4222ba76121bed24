import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SecretCommands } from '../../../src/io/credentials/command-secrets.ts';
import { LocalTransport } from '../../../src/io/mcp/local/local-transport.ts';
import { oddServer, stdioServers } from '../../helpers/mcp/servers.ts';
import { local, secretOf, useTools } from '../../helpers/mcp/tools.ts';
import { isAlive } from '../../helpers/processes.ts';

describe('local MCP server', () => {
  const connection = local(stdioServers.everything);

  test('is described by its name, protocol and tools, and its start is reported', async () => {
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

  test('answers plain text as { text }', async () => {
    const { call } = useTools();
    expect(await call(connection, 'echo', { message: 'hi' })).toEqual({
      kind: 'tool',
      isError: false,
      text: 'Echo: hi',
      body: { text: 'Echo: hi' },
    });
  });

  test('answers with its structuredContent', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-structured-content', { location: 'New York' })).toMatchObject({
      body: { temperature: 33, conditions: 'Cloudy', humidity: 82 },
    });
  });

  test('answers with links and images beside the text', async () => {
    const { call } = useTools();
    expect(await call(connection, 'get-resource-links', { count: 2 })).toMatchObject({
      body: { text: expect.any(String), links: [{ uri: expect.any(String) }, {}] },
    });
    expect(await call(connection, 'get-tiny-image')).toMatchObject({
      body: { images: [{ mimeType: 'image/png', data: expect.any(String) }] },
    });
  });

  test('is not called with arguments that do not fit', async () => {
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

  test('reports the progress of a tool', async () => {
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

  test('fails a call that takes too long as a timeout', async () => {
    const { call } = useTools();
    const failure = await call(connection, 'trigger-long-running-operation', { duration: 20, steps: 2 }, { timeoutMs: 300 });
    expect(failure).toMatchObject({
      kind: 'timeout',
      retryable: true,
      message: expect.stringContaining('no answer of the MCP server "tools" within 300 ms'),
    });
  });

  test('sees the variables every program needs and those that are passed, and no others', async () => {
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

  test('gets a secret that a command gives', async () => {
    const clock = { now: () => 0, sleepUntil: () => new Promise<void>(() => {}) };
    const key = { name: 'key', env: 'default', backend: 'vault', setAt: '2030-01-01T00:00:00.000Z', command: 'echo s3cret' } as const;
    const commands = new SecretCommands({ environment: process.env, clock }).forUser([key], '/home', { hide: () => {} });
    const { call } = useTools({ commands });
    const answer = await call(local(stdioServers.everything, { credentials: { API_KEY: 'key' } }), 'get-env');
    expect(answer).toMatchObject({ body: { API_KEY: 's3cret' } });
  });

  test('gets no secret that is bound to hosts', async () => {
    const { call } = useTools({ secrets: new Map([['key', secretOf('s3cret', ['api.example.com'])]]) });
    const failure = await call(local(stdioServers.everything, { credentials: { API_KEY: 'key' } }), 'get-env');
    expect(failure).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringMatching(/may be sent to api.example.com only: a server started here gets no secret that is bound to hosts/),
    });
  });
});

test('server-filesystem reads a file in its folder, and refuses one outside', async () => {
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

test('server-memory takes and returns lists of objects', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
  const { call } = useTools({ environment: { ...process.env, MEMORY_FILE_PATH: join(folder, 'memory.json') } });
  const connection = local(stdioServers.memory, { passEnv: ['MEMORY_FILE_PATH'] });
  await call(connection, 'create_entities', { entities: [{ name: 'Anna', entityType: 'person', observations: ['likes tea'] }] });
  expect(await call(connection, 'search_nodes', { query: 'tea' })).toMatchObject({
    body: { entities: [{ name: 'Anna', observations: ['likes tea'] }] },
  });
});

describe('odd MCP server', () => {
  test('has all pages of its tools listed', async () => {
    const { tools } = useTools();
    expect((await tools.server(local(oddServer('pages')))).tools.map(({ name }) => name)).toEqual(
      [1, 2, 3, 4, 5].map((page) => `tool-${page}`),
    );
  });

  test('gets answers to its pings, and refusals if it asks for a model or a person', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('asks')), 'work', { id: '1' })).toMatchObject({
      text: '{} refused -32601 refused -32601 refused -32601',
    });
  });

  test('has its tools listed again when they change', async () => {
    const { call, events } = useTools();
    const connection = local(oddServer('changes'));
    expect(await call(connection, 'new-1', { id: '1' })).toMatchObject({ kind: 'request' });
    await call(connection, 'work', { id: '1' });
    await expect.poll(() => events.at(-1), { timeout: 5000 }).toEqual({ type: 'server-tools', connection: 'tools', tools: 3 });
    expect(await call(connection, 'new-1', { id: '1' })).toMatchObject({ isError: false });
  });

  test('has its log reported', async () => {
    const { call, events } = useTools();
    await call(local(oddServer('tells')), 'work', { id: '1' });
    expect(events).toContainEqual({ type: 'server-log', connection: 'tools', level: 'warning', logger: 'db', message: 'slow ' });
  });

  test('fails a call with `tool` when it refuses it', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('refuses')), 'work', { id: '1' })).toMatchObject({
      kind: 'tool',
      retryable: false,
      message: expect.stringMatching(/^the server refused the call: .*bad 1 \(-32602\)$/),
    });
  });

  test('fails a call with `parse` when its answer is not valid', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('wrong')), 'work', { id: '1' })).toMatchObject({ kind: 'parse' });
  });

  test('fails a call with `parse` when its answer is nested too deep to be written', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('deep')), 'work', { id: '1' });
    expect(failure).toMatchObject({ kind: 'parse', retryable: false, message: 'the answer is nested more than 1000 deep' });
  });

  test('is started again once when it ends', async () => {
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

  test('fails calls with the reason when it cannot start', async () => {
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

  test('fails calls after start_timeout when it is never ready', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('never-ready'), { startTimeoutMs: 300 }), 'work');
    expect(failure).toMatchObject({ kind: 'timeout', sent: false, message: expect.stringContaining('(start_timeout)') });
  });

  test('fails calls after start_timeout when its list of tools is endless', async () => {
    const { call } = useTools();
    const failure = await call(local(oddServer('endless'), { startTimeoutMs: 400 }), 'work');
    expect(failure).toMatchObject({
      kind: 'timeout',
      sent: false,
      message: 'the MCP server "tools" is not ready within 400 ms (start_timeout)',
    });
  });

  test('fails calls after start_timeout when it never lists its tools, and its end is not given as the reason', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('never-lists'), { startTimeoutMs: 400 }), 'work')).toMatchObject({
      kind: 'timeout',
      sent: false,
      message: 'the MCP server "tools" is not ready within 400 ms (start_timeout)',
    });
  });

  test('loses the malformed parts of its schemas, and can still be called', async () => {
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

  test('may write junk to stdout', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('junk')), 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
  });

  test('may write JSON that is no message to stdout', async () => {
    const { call } = useTools();
    const connection = local(oddServer('scalars'));
    expect(await call(connection, 'work', { id: '1' })).toMatchObject({ text: 'ok 1' });
    expect(await call(connection, 'work', { id: '2' })).toMatchObject({ text: 'ok 2' });
  });

  test('fails a call with the last line that was no message when no answer comes', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('no-message')), 'work', { id: '1' }, { timeoutMs: 300 })).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('it wrote to stdout what is no message: {"id":9,"result":{}}'),
    });
  });

  test('has only whole lines of its stderr shown, because half a secret could not be masked', async () => {
    const key = 'canary-0123456789-abcdefghij';
    const { call } = useTools({ secrets: new Map([['key', secretOf(key)]]) });
    const failure = await call(local(oddServer('dies-loudly'), { credentials: { KEY: 'key' } }), 'work');
    expect(failure).toMatchObject({ message: expect.stringMatching(/it ended with exit code 3; it said: cannot start$/) });
  });

  test('makes messages wait while it does not read, until it ends', async () => {
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

  test('leaves no child process, even one that ignores SIGTERM', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'automate-mcp-'));
    const note = join(folder, 'note');
    const { tools, call } = useTools();
    await call(local(oddServer('leaves-a-child', note)), 'work', { id: '1' });
    const pid = Number(/child (\d+)/.exec(await readFile(note, 'utf8'))?.[1]);
    expect(isAlive(pid)).toBe(true);
    await (tools as unknown as { close(): Promise<void> }).close();
    await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
  });

  test('is ended when it sends a message of more than 10 MB', async () => {
    const { call } = useTools();
    const connection = local(oddServer('huge'));
    expect(await call(connection, 'work', { id: '2' })).toMatchObject({
      kind: 'network',
      message: expect.stringContaining('it sent a message of more than 10 MB'),
    });
    expect(await call(connection, 'work', { id: '3' })).toMatchObject({ text: 'ok 3' });
  });

  test('gets its calls cancelled by an abort, and ends when it is closed', async () => {
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

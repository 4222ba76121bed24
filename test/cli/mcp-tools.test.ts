import { mkdir } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

/** A message from the MCP server. */
interface Said {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly message?: string; readonly progressToken?: unknown };
  readonly error?: { readonly code: number; readonly message: string };
  // biome-ignore lint/suspicious/noExplicitAny: the result of any method
  readonly result?: any;
}

/** Creates a workplace with files, some of them in the folder `flows`. */
async function placeWith(files: Record<string, string>): Promise<Workplace> {
  const place = await workplace();
  await mkdir(place.path('flows'));
  for (const [name, text] of Object.entries(files)) await place.write(name, text);
  return place;
}

const opening = [
  { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } } },
  { method: 'notifications/initialized' },
];

/** Sends messages to `automate mcp flows` and closes its stdin. A string is sent as it is. */
async function talk(place: Workplace, messages: readonly (object | string)[], options: readonly string[] = []) {
  const lines = [...opening, ...messages].map((one) => (typeof one === 'string' ? one : JSON.stringify({ jsonrpc: '2.0', ...one })));
  const finished = await place.automate(['mcp', 'flows', ...options], { stdin: `${lines.join('\n')}\n` });
  const said = finished.stdout.split('\n').filter((line) => line !== '');
  const answers = said.map((line) => JSON.parse(line) as Said);
  return { ...finished, answers, answer: (id: number) => answers.find((one) => one.id === id) };
}

const calling = (id: number, name: string, args: object, more: object = {}) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: args, ...more },
});

const upstream = () =>
  httpServer(({ path }, response) =>
    path === '/99' ? json(response, { error: 'no such user' }, 404) : json(response, { name: `n${path}` }),
  );

const asking = (origin: string, more = '') => `${more}nodes: [{ type: http, id: ask, url: "${origin}/{{id}}", map: [name] }]\n`;

test.each([{}, [], null, true, 1.5, { a: 1 }])('a request with the id %j is answered with an error', async (id) => {
  const place = await placeWith({ 'flows/one.yaml': 'nodes: [{ type: set, fields: { b: "{{a}}" } }]' });
  const { answers, code } = await talk(place, [
    { id, method: 'tools/list' },
    { id, method: 'tools/call', params: { name: 'one', arguments: { a: '1' } } },
    { id: 2, method: 'ping' },
  ]);
  const refusal = {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32600, message: `expected a string or a whole number as the id of the request, found ${JSON.stringify(id)}` },
  };
  expect(answers.filter((answer) => answer.error)).toEqual([refusal, refusal]);
  expect([code, answers.find((answer) => answer.id === 2)?.result]).toEqual([0, {}]);
});

describe('a flow that is offered as an MCP tool', () => {
  test("has the flow's name and description, and its input and output fields", async () => {
    const place = await placeWith({
      'flows/one.yaml': asking('http://127.0.0.1:1', 'name: Look up / users\ndescription: Looks a user up.\n'),
      'flows/two.yaml': 'nodes: [{ type: set, fields: { b: { cel: "has(note) ? note : id" } }, when: "size != null" }]',
    });
    const { answer, code } = await talk(place, [{ id: 2, method: 'tools/list' }]);
    expect(code).toBe(0);
    const [one, two] = answer(2)?.result?.tools ?? [];
    expect(one).toMatchObject({
      name: 'Look_up___users',
      description: 'Looks a user up.',
      inputSchema: { type: 'object', required: ['id'] },
    });
    expect(one.outputSchema.properties.rows.items).toEqual({ type: 'object', properties: { name: {} } });
    expect(two.description).toBe(
      'Runs the flow "two" for one record:\n- set-1: Set: adds, converts, renames, removes and keeps fields\nIt adds the fields b.',
    );
    expect(Object.keys(two.inputSchema.properties)).toEqual(['size', 'id', 'note']);
    expect(two.inputSchema.required).toEqual(['id']);
  });

  test('is named after its file if a different flow has the same name', async () => {
    const flow = 'name: same\nnodes: [{ type: set, fields: { a: "1" } }]';
    const place = await placeWith({ 'flows/a.yaml': flow, 'flows/b.yaml': flow });
    const { answer, stderr } = await talk(place, [{ id: 2, method: 'tools/list' }]);
    expect(answer(2)?.result.tools.map(({ name }: { name: string }) => name)).toEqual(['same', 'b']);
    expect(stderr).toContain('the flow b becomes the tool "b", because the flow a is already the tool "same"');
  });

  test('is left out, with a line on stderr, if it is invalid or a test file', async () => {
    const place = await placeWith({ 'flows/a.yaml': 'nodes: 7', 'flows/a.test.yaml': 'flow: a.yaml' });
    const { answer, stderr } = await talk(place, [{ id: 2, method: 'tools/list' }]);
    expect(answer(2)?.result.tools).toEqual([]);
    expect(stderr).toMatch(/not valid: \S*a\.yaml:1:8: expected a list of nodes/);
    expect(stderr).not.toContain('test.yaml');
  });
});

describe('an MCP call to a flow', () => {
  test('returns the rows both as data and as text, and prints nothing else to stdout', async () => {
    const { origin } = await upstream();
    const place = await placeWith({ 'flows/ask.yaml': asking(origin) });
    const { answer, answers, stdout } = await talk(place, [calling(2, 'ask', { id: '17', extra: [1, null] }), { id: 3, method: 'ping' }]);
    const rows = [{ id: '17', extra: [1, null], name: 'n/17' }];
    expect(answer(2)?.result).toEqual({
      content: [{ type: 'text', text: JSON.stringify({ rows }) }],
      structuredContent: { rows },
      isError: false,
    });
    expect(answer(3)?.result).toEqual({});
    expect(stdout.trimEnd().split('\n')).toHaveLength(answers.length);
  });

  test('keeps all digits of a number, in the structured data as a string if a double cannot hold it', async () => {
    const { origin, requests } = await upstream();
    const place = await placeWith({ 'flows/ask.yaml': asking(origin) });
    const params = '{"name":"ask","arguments":{"id":12345678901234567890,"price":1.50}}';
    const { answer } = await talk(place, [`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${params}}`]);
    expect(requests[0]?.path).toBe('/12345678901234567890');
    const { content, structuredContent } = answer(2)!.result as { content: [{ text: string }]; structuredContent: { rows: unknown } };
    expect(content[0].text).toBe('{"rows":[{"id":12345678901234567890,"price":1.50,"name":"n/12345678901234567890"}]}');
    expect(structuredContent.rows).toEqual([{ id: '12345678901234567890', price: 1.5, name: 'n/12345678901234567890' }]);
  });

  test('can have an argument named __proto__', async () => {
    const place = await placeWith({ 'flows/f.yaml': 'nodes: [{ type: set, fields: { b: "{{__proto__}}" } }]' });
    const params = '{"name":"f","arguments":{"__proto__":"x"}}';
    const { answer } = await talk(place, [`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${params}}`]);
    expect(answer(2)?.result.content[0].text).toBe('{"rows":[{"__proto__":"x","b":"x"}]}');
  });

  test('returns the same error message as the errors file if the flow fails', async () => {
    const { origin } = await upstream();
    const place = await placeWith({ 'flows/ask.yaml': asking(origin), 'in.json': '[{"id": 99}]' });
    const { answer } = await talk(place, [calling(2, 'ask', { id: 99 })]);
    await place.automate(['run', 'flows/ask.yaml', '--in', 'in.json', '--out', 'out.json']);
    const [row] = JSON.parse(await place.read('out.errors.json'));
    expect(answer(2)?.result).toEqual({ content: [{ type: 'text', text: row._error.message }], isError: true });
  });

  test('requires an argument for every field, except for fields that the flow compares with null', async () => {
    const place = await placeWith({
      'flows/f.yaml': 'nodes: [{ type: set, fields: { b: { cel: "note == null ? id : note" } } }]',
    });
    const { answer } = await talk(place, [calling(2, 'f', { id: 'x' }), calling(3, 'f', {}), calling(4, 'g', {})]);
    expect(answer(2)?.result.structuredContent.rows).toEqual([{ id: 'x', note: null, b: 'x' }]);
    expect(answer(3)?.error).toEqual({ code: -32602, message: 'expected the argument "id"' });
    expect(answer(4)?.error).toEqual({ code: -32602, message: 'there is no tool "g"' });
  });

  test("returns an error that says how to proceed if the flow's credential does not exist", async () => {
    const flow = 'nodes: [{ type: http, url: "https://api.example.com/{{id}}", auth: { type: bearer, credential: crm }, map: [name] }]';
    const { answer } = await talk(await placeWith({ 'flows/f.yaml': flow }), [calling(2, 'f', { id: 1 })]);
    expect(answer(2)?.result).toMatchObject({ isError: true });
    expect(answer(2)?.result.content[0].text).toContain('automate credentials set crm');
  });

  test('costs credits like a run, and returns an error once the allowance is used up', async () => {
    const { origin } = await upstream();
    const place = await placeWith({ 'flows/ask.yaml': asking(origin) });
    await place.automate(['credits', 'limit', '1']);
    expect((await talk(place, [calling(2, 'ask', { id: 1 })])).answer(2)?.result.isError).toBe(false);
    expect((await place.automate(['credits'])).stdout).toMatch(/1 of 1\b/);
    const { answer } = await talk(place, [calling(2, 'ask', { id: 2 })]);
    expect(answer(2)?.result.isError).toBe(true);
    expect(answer(2)?.result.content[0].text).toMatch(
      /the allowance of 1 credits? .* is used up \(to change it: automate credits limit N\)/,
    );
  });

  test('reports how long it waits if the client asks for progress', async () => {
    let asked = 0;
    const { origin } = await httpServer((_, response) => (asked++ === 0 ? json(response, {}, 503) : json(response, { name: 'Ada' })));
    const place = await placeWith({
      'flows/f.yaml': `nodes: [{ type: http, id: ask, url: "${origin}/{{id}}", map: [name], retry: { backoff: 10ms } }]`,
    });
    const { answers } = await talk(place, [calling(2, 'f', { id: 1 }, { _meta: { progressToken: 'p' } })]);
    const told = answers.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);
    expect(told[0]).toMatchObject({ progressToken: 'p', progress: 1, message: expect.stringMatching(/^ask: .*503.*; retries after/) });
    expect((await talk(place, [calling(2, 'f', { id: 1 })])).answers.filter(({ method }) => method !== undefined)).toEqual([]);
  });

  test('aborts its HTTP request when it is cancelled, and returns no result', async () => {
    let ended = () => {};
    const closed = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const seen: string[] = [];
    const { origin } = await httpServer(({ path }, response) => {
      seen.push(path);
      response.on('close', ended);
    });
    const place = await placeWith({ 'flows/f.yaml': asking(origin) });
    const { child, finished } = place.start(['mcp', 'flows'], { keepStdin: true });
    onTestFinished(() => void child.kill('SIGKILL'));
    const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    for (const message of [...opening, calling(2, 'f', { id: 1 })]) send(message);
    await expect.poll(() => seen).toHaveLength(1);
    send({ method: 'notifications/cancelled', params: { requestId: 2 } });
    await closed;
    child.stdin?.end();
    const { code, stdout } = await finished;
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([1]);
  });
});

describe('automate mcp --var', () => {
  const withRegion = 'vars: { region: null }\nnodes: [{ type: set, fields: { r: "{{vars.region}}" } }]';

  test('sets a variable in the flows that declare it', async () => {
    const place = await placeWith({ 'flows/a.yaml': withRegion, 'flows/b.yaml': 'nodes: [{ type: set, fields: { c: "1" } }]' });
    const { answer } = await talk(place, [calling(2, 'a', {}), calling(3, 'b', {})], ['--var', 'region=eu']);
    expect(answer(2)?.result.structuredContent.rows).toEqual([{ r: 'eu' }]);
    expect(answer(3)?.result.structuredContent.rows).toEqual([{ c: '1' }]);
  });

  test('is refused if no flow declares the variable, or if the value looks like a secret', async () => {
    const place = await placeWith({ 'flows/a.yaml': withRegion });
    expect(await place.automate(['mcp', 'flows', '--var', 'regoin=eu'])).toMatchObject({
      code: 2,
      stderr: 'automate: --var: no flow has the variable "regoin"\n',
    });
    const secret = `region=ghp_${'nQ2vXb7TzR4kLm9WcY1dPs6HfJ8uGa3eKo5B'}`;
    const config = await place.automate(['mcp', 'flows', '--print-config', '--var', secret]);
    expect([config.code, config.stdout]).toEqual([2, '']);
    expect(config.stderr).toContain('the value of "region" looks like a secret');
    expect((await talk(place, [])).stderr).toContain('the variable "region" has no value\n  give it a value: --var region=VALUE');
  });
});

describe('automate mcp --print-config', () => {
  test("prints a desktop client's configuration, with absolute paths and with the same options", async () => {
    const flow = 'vars: { a: null }\nnodes: [{ type: set, fields: { b: "{{vars.a}}" } }]';
    const place = await placeWith({ 'flows/a.yaml': flow, 'flows/b.yaml': 'nodes: 7' });
    const { code, stdout } = await place.automate(['mcp', 'flows', '--print-config', '--var', 'a=b', '--env', 'staging']);
    const { command, args, env } = JSON.parse(stdout).mcpServers.flows;
    expect([code, command, args.slice(1)]).toEqual([
      0,
      process.execPath,
      ['mcp', expect.stringMatching(/^\/.*\/flows$/), '--var', 'a=b', '--env', 'staging'],
    ]);
    expect(env).toEqual({ AUTOMATE_HOME: place.path('.automate') });
  });

  test('refuses a folder that does not exist', async () => {
    expect(await (await workplace()).automate(['mcp', 'nothing', '--print-config'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('expected a folder with flows, found none at nothing'),
    });
  });
});

import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { attemptText } from '../../src/cli/run/progress.ts';
import { Failure } from '../../src/core/failure.ts';
import type { Tool, ToolAnswer, ToolCall, Tools } from '../../src/core/tools.ts';
import { compile } from '../../src/flow/compile.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { nodeTypes } from '../helpers/node-types.ts';
import { type FlowOptions, type GivenRecord, runFlow } from '../helpers/run-flow.ts';

const connections = 'connections: { search: { type: mcp, url: https://search.example.com/mcp } }\n';

function flowOf(node: string, more = ''): string {
  return `${connections}nodes: [{ id: find, type: mcp, connection: search, tool: search, ${node} }]\n${more}`;
}

function messagesOf(yaml: string): string {
  return flowProblems(yaml).map(messageWithAdvice).join('\n');
}

function answerOf(body: ToolAnswer['body'], isError = false): ToolAnswer {
  return { kind: 'tool', isError, body, text: typeof body === 'string' ? body : JSON.stringify(body) };
}

/** Runs a flow with fake tools, and records the tool calls. */
async function run(
  yaml: string,
  records: Iterable<GivenRecord>,
  answer: (call: ToolCall, index: number) => ToolAnswer = () => answerOf({}),
  options: FlowOptions = {},
) {
  const calls: ToolCall[] = [];
  const tools: Tools = {
    async call(call, progressed) {
      progressed({ progress: 1, total: 2 });
      return answer(call, calls.push(call) - 1);
    },
    server: () => Promise.reject(new Error('not asked for')),
    abort: () => {},
  };
  return { ...(await runFlow(yaml, records, { tools, ...options })), calls };
}

describe("an MCP node's arguments option", () => {
  test('can be a mapping, in which a single reference keeps its type', async () => {
    const { calls } = await run(flowOf('arguments: { q: "a {{name}}", n: "{{age}}", list: ["{{tags}}"], on: true }'), [
      { name: 'Anna', age: 7, tags: ['x'] },
    ]);
    expect(calls[0]).toMatchObject({ tool: 'search', arguments: { q: 'a Anna', n: 7, list: [['x']], on: true }, timeoutMs: 30_000 });
  });

  test('can be JSON text, in which a CSV cell outside quotes must be a JSON literal', async () => {
    const { calls, failures } = await run(
      flowOf(`arguments: '{ "q": "{{name}}", "n": {{age}} }'`),
      [
        { name: 'A "b"', age: '7' },
        { name: 'x', age: 'old' },
      ],
      undefined,
      { csv: true },
    );
    expect(calls.map((call) => call.arguments)).toEqual([{ q: 'A "b"', n: 7 }]);
    expect(failures).toMatchObject([
      { record: 2, class: 'request', message: expect.stringContaining('is used without quotes in the arguments') },
    ]);
  });

  test('makes a record fail, at no cost, if the record does not have the field', async () => {
    const { failures, credits } = await run(flowOf('arguments: { q: "{{nome}}" }'), [{ name: 'Anna' }]);
    expect(failures).toMatchObject([{ class: 'template', message: 'the record has no field "nome"' }]);
    expect(credits).toBe(0);
  });

  test.each([
    [`arguments: '["{{a}}"]'`, 'expected the arguments to be a mapping of names to values'],
    [`arguments: '{ "a": }'`, 'the arguments are not JSON'],
    ['arguments: [1]', 'expected a mapping, or JSON text'],
    ['arguments: { q: x }, map: [$status]', 'a tool\'s answer has no "$status"'],
    ['arguments: { q: x }, body: {}', 'unknown key "body"'],
  ])('is refused if the options are %s', (node, problem) => {
    expect(messagesOf(flowOf(node))).toContain(problem);
  });
});

describe('the result of an MCP tool call', () => {
  const map = 'arguments: { q: "{{name}}" }, map: { title: "results[].title", total: total }';

  test('is mapped like an HTTP response', async () => {
    const { rows, events } = await run(flowOf(map), [{ name: 'Anna' }], () =>
      answerOf({ total: 2, results: [{ title: 'one' }, { title: 'two' }] }),
    );
    expect(rows).toEqual([
      { name: 'Anna', title: 'one', total: 2 },
      { name: 'Anna', title: 'two', total: 2 },
    ]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'mapped', paths: ['results[].title', 'total'], found: [true, true] }));
    expect(events).toContainEqual({ type: 'tool-progress', record: 1, node: 'find', tool: 'search', progress: 1, total: 2 });
  });

  test('fails the record without a retry if the result has isError: true', async () => {
    const { failures, calls, credits } = await run(flowOf(map), [{ name: 'Anna' }], () => answerOf('out of order', true));
    expect(failures).toMatchObject([{ class: 'tool', status: undefined, attempts: 1, message: 'the tool "search" failed: out of order' }]);
    expect(calls).toHaveLength(1);
    expect(credits).toBe(1);
  });

  test('is requested once more if it has isError: true and retry.on includes tool', async () => {
    const { rows, calls } = await run(flowOf(`${map}, retry: { on: [tool], backoff: 10ms }`), [{ name: 'Anna' }], (_, index) =>
      index < 2 ? answerOf('busy', true) : answerOf({ total: 1, results: [{ title: 'x' }] }),
    );
    expect(rows).toHaveLength(1);
    expect(calls).toHaveLength(3);
  });

  test('fails the record if it does not fit the map', async () => {
    const { failures } = await run(flowOf(map), [{ name: 'Anna' }], () => answerOf({ results: 'none' }));
    expect(failures).toMatchObject([{ class: 'mapping' }]);
  });

  test('can contain what the call really cost', async () => {
    const { credits } = await run(flowOf('arguments: {}, cost: usage.credits'), [{ name: 'Anna' }], () =>
      answerOf({ usage: { credits: 3 } }),
    );
    expect(credits).toBe(1);
  });
});

describe('the tool calls of an MCP node', () => {
  const node = 'arguments: { q: "{{name}}" }, map: { hits: hits }';
  const records = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

  test.each([
    ['network', { kind: 'network' as const, retryable: true }, 4],
    ['timeout', { kind: 'timeout' as const, retryable: true }, 4],
    ['429', { kind: 'http' as const, retryable: true, status: 429 }, 4],
    ['a 503', { kind: 'http' as const, retryable: true, status: 503 }, 4],
    ['a refusal', { kind: 'tool' as const, retryable: false }, 1],
    ['a 401', { kind: 'http' as const, retryable: false, status: 401 }, 1],
  ])('are retried as often as the kind of failure allows: %s', async (_, { kind, ...details }, tries) => {
    const { calls, failures } = await run(flowOf(node), [{ name: 'a' }], () => {
      throw new Failure(kind, 'no', details);
    });
    expect(calls).toHaveLength(tries);
    expect(failures).toMatchObject([{ class: kind, attempts: tries }]);
  });

  test('are retried only after the kinds of failure that retry.on lists', async () => {
    const { calls } = await run(flowOf(`${node}, retry: { on: [timeout] }`), [{ name: 'a' }], () => {
      throw new Failure('network', 'no', { retryable: true });
    });
    expect(calls).toHaveLength(1);
  });

  test('are retried after the wait that Retry-After requires', async () => {
    const { waitedMs } = await run(flowOf(node), [{ name: 'a' }], (_, index) => {
      if (index === 0) throw new Failure('http', 'slow', { retryable: true, status: 429, retryAfterMs: 7000 });
      return answerOf({ hits: 1 });
    });
    expect(waitedMs).toBe(7000);
  });

  test('cost nothing if they could not be sent', async () => {
    const { credits } = await run(flowOf(`${node}, retry: { max: 0 }`), records, () => {
      throw new Failure('request', 'no', { sent: false });
    });
    expect(credits).toBe(0);
  });

  test("obey the node's when and on_error options", async () => {
    const { rows } = await run(flowOf(`${node}, when: name != "a", on_error: keep`), records, ({ arguments: { q } }) =>
      q === 'b' ? answerOf('no', true) : answerOf({ hits: 1 }),
    );
    expect(rows).toEqual([
      { name: 'a' },
      { name: 'b', _error: expect.objectContaining({ class: 'tool', node: 'find' }) },
      { name: 'c', hits: 1 },
    ]);
  });

  test("are limited by the node's rate or, if the node has none, by the connection's rate", async () => {
    const rated = 'connections: { search: { type: mcp, url: https://search.example.com/mcp, rate: 1/s } }\n';
    const yaml = (more: string) => `${rated}nodes: [{ type: mcp, connection: search, tool: search${more} }]\n`;
    expect((await run(yaml(''), records)).waitedMs).toBe(2000);
    expect((await run(yaml(', rate: 10/s'), records)).waitedMs).toBe(200);
  });

  test('are limited in the number that are in progress at the same time', async () => {
    let most = 0;
    let now = 0;
    const tools: Tools = {
      async call() {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
        return answerOf({});
      },
      server: () => Promise.reject(new Error('not asked for')),
      abort: () => {},
    };
    await runFlow(
      flowOf('arguments: {}, concurrency: 3'),
      Array.from({ length: 20 }, (_, id) => ({ id })),
      { tools },
    );
    expect(most).toBe(3);
  });

  test('stop when the credits are used up, and the run ends', async () => {
    const { ending, calls } = await run(flowOf(node), records, () => answerOf({ hits: 1 }), { credits: 2 });
    expect(ending).toBe('max-credits');
    expect(calls).toHaveLength(2);
  });
});

describe('the connection of an MCP node', () => {
  test.each([
    ['{ type: mcp }', 'expected either url, the address of the server, or command'],
    ['{ type: mcp, url: https://a.example.com/mcp, command: x }', 'expected either url'],
    ['{ type: mcp, url: http://a.example.com/mcp }', 'expected an https URL, found http://a.example.com'],
    ['{ type: mcp, url: "https://a.example.com/{{id}}" }', 'the url of an MCP server cannot have references'],
    ['{ type: mcp, command: "a \'b" }', "a quote in the command is not closed: '"],
    ['{ type: mcp, command: a, auth: { type: bearer, credential: c } }', 'auth is for a server with a url, not for one with a command'],
    ['{ type: mcp, url: https://a.example.com/mcp, pass_env: [HOME] }', 'pass_env is for a server with a command'],
    [
      '{ type: mcp, command: "x --token ghp_16C7e42F292c6912E7710c838347Ae178B4a" }',
      'as a variable: credentials: { API_KEY: search-token }',
    ],
    [
      '{ type: mcp, command: a, credentials: { KEY: ghp_16C7e42F292c6912E7710c838347Ae178B4a } }',
      'found what looks like the secret itself',
    ],
    ['{ type: mcp, command: a, pass_env: ["A=b"] }', 'expected the name of an environment variable'],
    ['{ type: mcp, url: https://a.example.com/mcp, base_url: x }', 'unknown key "base_url"'],
    ['{ type: mpc, url: https://a.example.com/mcp }', 'no connection type "mpc"; did you mean "mcp"?'],
    ['{ type: http, base_url: https://a.example.com }', 'expected a connection of type mcp, found "search", which is of type http'],
  ])('is refused if it is invalid: %s', (connection, problem) => {
    const yaml = `connections: { search: ${connection} }\nnodes: [{ type: mcp, connection: search, tool: search }]\n`;
    expect(messagesOf(yaml)).toContain(problem);
  });

  test('is refused in an http node if its type is mcp', () => {
    const yaml = `${connections}nodes: [{ type: http, connection: search, url: /x }]\n`;
    expect(messagesOf(yaml)).toContain('expected a connection of type http, found "search", which is of type mcp');
  });

  test('is reported if it is unknown, with a command that creates a connection', () => {
    expect(messagesOf('nodes: [{ type: mcp, connection: search, tool: x }]\n')).toContain('automate connections add mcp search --url URL');
  });

  test('can have a command, which is split into words as in a shell', async () => {
    const yaml = `connections: { search: { type: mcp, command: "node 'my server.js' --x='a b' c\\\\ d" } }\nnodes: [{ type: mcp, connection: search, tool: x }]\n`;
    const { calls } = await run(yaml, [{}]);
    expect(calls[0]?.connection.server).toMatchObject({ command: ['node', 'my server.js', '--x=a b', 'c d'] });
  });
});

describe('the check of an MCP node against its server', () => {
  const tools: Tool[] = [
    { name: 'search', inputSchema: { type: 'object', properties: { query: {}, limit: {} }, required: ['query'] } },
    {
      name: 'typed',
      inputSchema: {
        type: 'object',
        properties: {
          n: { type: 'number' },
          i: { type: 'integer' },
          s: { type: 'string' },
          b: { type: 'boolean' },
          l: { type: 'array' },
          m: { type: 'object' },
          e: { enum: ['a', 'b'] },
          o: { anyOf: [{ type: 'number' }] },
        },
      },
    },
    { name: 'open', inputSchema: { type: 'object' } },
    { name: 'closed', inputSchema: { type: 'object', additionalProperties: false } },
    { name: 'loose', inputSchema: { type: 'object', properties: { a: {} }, additionalProperties: true } },
  ];

  const problems = (node: string, isTable = true) => {
    const plan = compile(`${connections}nodes:\n  - ${node}\n`, { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: true });
    return plan.tools
      .flatMap(({ check }) => check(tools, isTable))
      .map(({ line, column, message }) => `${line}:${column} ${message.split('\n')[0]}`);
  };

  test.each([
    ['{ type: mcp, connection: search, tool: serach }', ['3:44 the server of "search" has no tool "serach"; did you mean "search"?']],
    [
      '{ type: mcp, connection: search, tool: zzzzzzz }',
      ['3:44 the server of "search" has no tool "zzzzzzz"; it has search, typed, open, closed, loose'],
    ],
    [
      '{ type: mcp, connection: search, tool: search, arguments: { querry: x } }',
      ['3:65 the tool "search" has no argument "querry"; did you mean "query"?'],
    ],
    [
      '{ type: mcp, connection: search, tool: search, arguments: { limit: 3 } }',
      ['3:63 the argument "query" of the tool "search" is missing'],
    ],
    [
      `{ type: mcp, connection: search, tool: search, arguments: '{ "query": "{{a}}", "x": {{b}} }' }`,
      ['3:63 the tool "search" has no argument "x"; it takes query, limit'],
    ],
    ['{ type: mcp, connection: search, tool: search, arguments: { query: x } }', []],
    ['{ type: mcp, connection: search, tool: typed, arguments: { n: 1.5, i: 3, s: x, b: true, l: [1], m: { a: 1 }, e: a, o: x } }', []],
    ['{ type: mcp, connection: search, tool: typed, arguments: { s: "{{a}}", e: "{{a}}", o: "{{a}}", l: ["{{a}}"], n: null } }', []],
    [`{ type: mcp, connection: search, tool: typed, arguments: '{ "n": {{a}} }' }`, []],
    [
      '{ type: mcp, connection: search, tool: typed, arguments: { n: x } }',
      ['3:67 the argument "n" of the tool "typed" takes a number, found "x"'],
    ],
    [
      '{ type: mcp, connection: search, tool: typed, arguments: { i: 1.5 } }',
      ['3:67 the argument "i" of the tool "typed" takes a whole number, found 1.5'],
    ],
    [
      '{ type: mcp, connection: search, tool: typed, arguments: { b: "yes" } }',
      ['3:67 the argument "b" of the tool "typed" takes true or false, found "yes"'],
    ],
    [
      '{ type: mcp, connection: search, tool: typed, arguments: { e: c } }',
      ['3:67 the argument "e" of the tool "typed" takes "a", "b", found "c"'],
    ],
    [
      '{ type: mcp, connection: search, tool: typed, arguments: { n: "{{a}}" } }',
      ['3:67 the argument "n" of the tool "typed" takes a number, and this is always a string'],
    ],
    [
      '{ type: mcp, connection: search, tool: typed, arguments: { n: "1{{a}}" } }',
      ['3:67 the argument "n" of the tool "typed" takes a number, and this is always a string'],
    ],
    ['{ type: mcp, connection: search, tool: open, arguments: { any: x } }', []],
    [
      '{ type: mcp, connection: search, tool: closed, arguments: { any: x } }',
      ['3:65 the tool "closed" has no argument "any"; it takes none'],
    ],
    ['{ type: mcp, connection: search, tool: loose, arguments: { any: x } }', []],
  ])('reports the problems in %s', (node, expected) => {
    expect(problems(node)).toEqual(expected);
  });

  test('accepts a single reference as a string argument only if the input is a table', () => {
    expect(problems('{ type: mcp, connection: search, tool: typed, arguments: { n: "{{a}}" } }', false)).toEqual([]);
  });
});

describe("possible errors next to data in a tool's result", () => {
  const answer = () => answerOf({ data: { name: 'x' }, errors: [{ message: 'no' }] });
  const reported = ({ events }: { events: readonly { type: string }[] }) =>
    events.filter(({ type }) => type === 'errors-beside-data').length;

  test('are reported, unless the node has fail_when', async () => {
    expect(reported(await run(flowOf('map: [data.name]'), [{}, {}], answer))).toBe(2);
    expect(reported(await run(flowOf('map: [data.name], fail_when: "false"'), [{}], answer))).toBe(0);
  });

  test.each<Parameters<typeof answerOf>[0]>([{ data: 1, errors: [] }, { errors: [1] }, { data: { errors: [1] } }, 'errors'])(
    'are not reported for the result %j',
    async (body) => {
      expect(reported(await run(flowOf('map: [$body]'), [{}], () => answerOf(body)))).toBe(0);
    },
  );
});

describe('the event log of a run with MCP calls', () => {
  test('has a line for each attempt of a tool call', async () => {
    const lines: string[] = [];
    await run(flowOf('arguments: { q: "{{id}}" }'), [{ id: 1 }, { id: 2 }], (_call, index) => answerOf({}, index === 1), {
      trace: (attempt) => void lines.push(attemptText(attempt)),
    });
    expect(lines).toEqual(['record 1  find  tool search  ok  0 ms', 'record 2  find  tool search  error  0 ms']);
  });
});

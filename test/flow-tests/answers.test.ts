import { describe, expect, onTestFinished, test } from 'vitest';
import { checkTest } from '../../src/flow-tests/check-test.ts';
import { readTestFile } from '../../src/flow-tests/test-file.ts';
import { compileFlow } from '../../src/run/flow-file.ts';

const users = `
nodes:
  - id: user
    type: http
    url: https://api.example.com/users/{{id}}
    map: { name: data.name }`;

/** Runs one flow test, and returns its problems. */
async function problemsOf(flow: string, options: string): Promise<readonly string[]> {
  const file = readTestFile(`flow: flow.yaml\ntests:\n  - name: a\n${options.replace(/^(?=.)/gm, '    ')}\n`, 'flow.test.yaml');
  const plan = await compileFlow(flow, 'flow.yaml', { env: 'default', allowHttp: false, textCells: false });
  const [one] = file.tests;
  return (await checkTest(plan, one as (typeof file.tests)[number])).problems;
}

const ada = '{ request: GET https://api.example.com/users/17, body: { data: { name: Ada } } }';

describe('the expected rows of a flow test', () => {
  test('can omit fields that the actual rows have', async () => {
    expect(await problemsOf(users, `record: { id: 17 }\nanswers: [${ada}]\nrows: [{ name: Ada }]`)).toEqual([]);
  });

  test('appear next to the actual value where the two differ', async () => {
    expect(await problemsOf(users, `record: { id: 17 }\nanswers: [${ada}]\nrows: [{ id: "17", name: Bob }]`)).toEqual([
      'row: id: expected "17", found 17',
      'row: name: expected "Bob", found "Ada"',
    ]);
  });

  test('must contain every field if the option is rows_exactly', async () => {
    const exactly = (row: string) => problemsOf(users, `record: { id: 17 }\nanswers: [${ada}]\nrows_exactly: [${row}]`);
    expect(await exactly('{ id: 17, name: Ada }')).toEqual([]);
    expect(await exactly('{ name: Ada }')).toEqual(['row: id: expected no such field in the row, found 17']);
  });

  test('can contain a regular expression for a value', async () => {
    const like = (name: string) => problemsOf(users, `record: { id: 17 }\nanswers: [${ada}]\nrows: [{ name: "${name}" }]`);
    expect(await like('/^A/')).toEqual([]);
    expect(await like('/^[A\\\\-Z]da$/')).toEqual([]);
    expect(await like('/^B/')).toEqual(['row: name: expected text that matches /^B/, found "Ada"']);
  });

  test('are compared with all digits of numbers', async () => {
    const answer = '{ request: GET https://api.example.com/users/17, body: { data: { name: 12345678901234567891 } } }';
    const digits = (name: string) => problemsOf(users, `record: { id: 17 }\nanswers: [${answer}]\nrows: [{ name: ${name} }]`);
    expect(await digits('12345678901234567891')).toEqual([]);
    expect(await digits('12345678901234567890')).toEqual(['row: name: expected 12345678901234567890, found 12345678901234567891']);
  });

  test('are [] if the flow drops the record', async () => {
    const filter = 'nodes: [{ type: filter, where: id > 1 }]';
    expect(await problemsOf(filter, 'record: { id: 1 }\nrows: []')).toEqual([]);
    expect(await problemsOf(filter, 'record: { id: 2 }\nrows: []')).toEqual(['expected 0 rows, found 1:\n  {"id":2}']);
    expect(await problemsOf(filter, 'record: { id: 1 }\nrows: [{ id: 1 }]')).toEqual(['expected 1 row, found 0']);
  });

  test('follow the order of the records, whatever the order of the responses is', async () => {
    const answers = `[{ request: GET https://api.example.com/users/18, body: { data: { name: Bob } } }, ${ada}]`;
    const rows = (list: string) => problemsOf(users, `records: [{ id: 17 }, { id: 18 }]\nanswers: ${answers}\nrows: ${list}`);
    expect(await rows('[{ name: Ada }, { name: Bob }]')).toEqual([]);
    expect(await rows('[{ name: Bob }, { name: Ada }]')).toHaveLength(2);
  });
});

describe('an HTTP request in a flow test', () => {
  test('makes the test fail, and is shown in full, if it has no response', async () => {
    const post =
      'nodes: [{ type: http, method: POST, url: "https://api.example.com/a?b={{id}}", auth: { type: bearer, credential: crm }, body: { id: "{{id}}" } }]';
    const [problem, ...others] = await problemsOf(post, 'record: { id: 17 }\nrows: [{ id: 17 }]');
    expect(others).toEqual([]);
    expect(problem).toMatch(/^no answer is left for this request:\n {2}POST https:\/\/api\.example\.com\/a\?b=17\n/);
    expect(problem).toContain('\n  authorization: Bearer test-crm\n');
    expect(problem).toMatch(/\n {2}\{"id":17\}$/);
  });

  test('is reported as one problem if it has no response, even in a loop', async () => {
    const loop = `nodes:
  - type: loop
    while: n != "z"
    carry: [n]
    max: 5
    nodes: [{ type: http, url: "https://api.example.com/{{n}}", map: { n: name } }]`;
    const [problem, ...others] = await problemsOf(
      loop,
      'record: { n: a }\nanswers: [{ request: GET https://api.example.com/a, body: { name: b } }]',
    );
    expect([problem, others]).toEqual([
      expect.stringMatching(/^no answer is left for this request:\n {2}GET https:\/\/api\.example\.com\/b\n/),
      [],
    ]);
  });
  test("receives the test's responses in their order, each response only once", async () => {
    const flow = `${users}\n  - { type: http, url: "https://api.example.com/users/{{id}}", map: { again: data.name } }`;
    const eve = ada.replace('Ada', 'Eve');
    expect(await problemsOf(flow, `record: { id: 17 }\nanswers: [${ada}, ${eve}]\nrows: [{ name: Ada, again: Eve }]`)).toEqual([]);
    expect((await problemsOf(flow, `record: { id: 17 }\nanswers: [${ada}]`))[0]).toContain('no answer is left');
  });

  test('makes the test fail if the test expects it but the flow never sends it', async () => {
    const unused = '{ request: GET https://api.example.com/users/18 }';
    expect(await problemsOf(users, `record: { id: 17 }\nanswers: [${ada}, ${unused}]`)).toEqual([
      'the answer to GET https://api.example.com/users/18 was not used: the flow sent no such request',
    ]);
  });

  test("matches a test's URL that has a default port or no escapes", async () => {
    const answer = '{ request: "GET https://api.example.com:443/users/ü", body: { data: { name: Ada } } }';
    expect(await problemsOf(users, `record: { id: ü }\nanswers: [${answer}]\nrows: [{ name: Ada }]`)).toEqual([]);
  });

  test('is compared only in the parts that the test lists under sent', async () => {
    const post = `nodes:
  - type: http
    method: POST
    url: https://api.example.com/a
    headers: { X-Team: sales }
    body: { id: "{{id}}", more: { a: 1, b: [1, 2] } }`;
    const sent = (expected: string) =>
      problemsOf(post, `record: { id: x }\nanswers: [{ request: POST https://api.example.com/a, sent: ${expected} }]`);
    expect(await sent('{ headers: { x-team: sales, Content-Type: /json/ }, body: { more: { b: [1, 2] } } }')).toEqual([]);
    expect(await sent('{ headers: { x-team: support }, body: { id: y, more: { b: [1] } } }')).toEqual([
      'POST https://api.example.com/a sent the header x-team: expected "support", found "sales"',
      'POST https://api.example.com/a sent the body.id: expected "y", found "x"',
      'POST https://api.example.com/a sent the body.more.b: expected [1], found [1,2]',
    ]);
  });

  test('can have a form, which the test can write as fields or as text', async () => {
    const form = 'nodes: [{ type: http, method: POST, url: https://api.example.com/a, form: { a: "{{id}}", b: [1, 2] } }]';
    const sent = (body: string) =>
      problemsOf(form, `record: { id: x y }\nanswers: [{ request: POST https://api.example.com/a, sent: { body: ${body} } }]`);
    expect(await sent('{ a: x y, b: ["1", "2"] }')).toEqual([]);
    expect(await sent('"a=x%20y&b=1&b=2"')).toEqual([]);
    expect(await sent('{ a: z }')).toHaveLength(1);
  });

  test("is sent once for a batch, and its response is used for all the batch's records", async () => {
    const batch = `nodes:
  - type: http
    method: POST
    url: https://api.example.com/lookup
    batch: { size: 10, items: "{{id}}", match: { field: id, path: "found[].id" } }
    body: { ids: "{{items}}" }
    map: { name: "found[].name" }`;
    const found = '{ found: [{ id: 2, name: Bob }, { id: 1, name: Ada }] }';
    const answer = `{ request: POST https://api.example.com/lookup, sent: { body: { ids: [1, 2] } }, body: ${found} }`;
    expect(await problemsOf(batch, `records: [{ id: 1 }, { id: 2 }]\nanswers: [${answer}]\nrows: [{ name: Ada }, { name: Bob }]`)).toEqual(
      [],
    );
  });

  test('uses a cache that is empty at the start of each test', async () => {
    const cached = `${users}\n    cache: 1h`;
    const run = () => problemsOf(cached, `records: [{ id: 17 }, { id: 17 }]\nanswers: [${ada}]\nrows: [{ name: Ada }, { name: Ada }]`);
    expect([await run(), await run()]).toEqual([[], []]);
  });

  test('follows a redirect if the test has a response for the new URL', async () => {
    const moved = '{ request: GET https://api.example.com/users/17, status: 302, headers: { location: /v2/17 } }';
    const there = '{ request: GET https://api.example.com/v2/17, body: { data: { name: Ada } } }';
    expect(await problemsOf(users, `record: { id: 17 }\nanswers: [${moved}, ${there}]\nrows: [{ name: Ada }]`)).toEqual([]);
  });

  test('is authenticated with test-NAME instead of a token from a token server', async () => {
    const oauth = `nodes:
  - type: http
    url: https://api.example.com/1
    auth: { type: oauth2_client_credentials, token_url: https://login.example.com/token, client_id: x, credential: crm }`;
    const sent = 'sent: { headers: { authorization: Bearer test-crm } }';
    expect(await problemsOf(oauth, `record: {}\nanswers: [{ request: GET https://api.example.com/1, ${sent} }]`)).toEqual([]);
  });
});

describe("a record's failure in a flow test", () => {
  const missing = '{ request: GET https://api.example.com/users/17, status: 404, body: { error: no such user } }';

  test('is compared only in the parts that the test lists', async () => {
    const fails = (expected: string) => problemsOf(users, `record: { id: 17 }\nanswers: [${missing}]\nfails: ${expected}`);
    expect(await fails('{ node: user, class: http, status: 404, message: /no such user/ }')).toEqual([]);
    expect(await fails('{}')).toEqual([]);
    expect(await fails('{ class: timeout, status: 404 }')).toEqual([
      'expected a different failure, found the record failed (user, http, 404): the server answered 404: {"error":"no such user"}',
      'class: expected "timeout", found "http"',
    ]);
  });

  test('makes the test fail, without a comparison of rows, if the test does not expect it', async () => {
    expect(await problemsOf(users, `record: { id: 17 }\nanswers: [${missing}]\nrows: [{ name: Ada }]`)).toEqual([
      'expected no failure, found the record failed (user, http, 404): the server answered 404: {"error":"no such user"}',
    ]);
  });

  test('makes the test fail, and show the rows, if the record succeeds instead', async () => {
    expect(await problemsOf(users, `record: { id: 17 }\nanswers: [${ada}]\nfails: { class: http }`)).toEqual([
      'expected a failure (class http), found 1 row:\n  {"id":17,"name":"Ada"}',
    ]);
  });

  test('is compared with a list of failures if the test has several records', async () => {
    const both = (fails: string) =>
      problemsOf(
        users,
        `records: [{ id: 17 }, { id: 18 }]\nanswers: [${missing}, ${ada.replace('17', '18')}]\nrows: [{ name: Ada }]\nfails: ${fails}`,
      );
    expect(await both('[{ status: 404 }]')).toEqual([]);
    expect(await both('[{ status: 404 }, { status: 500 }]')).toEqual(['expected a failure (status 500), found only 1 failure']);
    expect(await problemsOf(users, `records: [{ id: 17 }]\nanswers: [${ada}]\nfails: {}`)).toEqual([
      'expected a failure (of any kind), found none',
    ]);
    expect(await both('[]')).toEqual([expect.stringContaining('expected no failure, found record 1 failed')]);
  });

  test('can be expected even if it ends the run', async () => {
    expect(await problemsOf(`${users}\n    on_error: stop`, `record: { id: 17 }\nanswers: [${missing}]\nfails: { status: 404 }`)).toEqual(
      [],
    );
  });

  test('has the same class and message for a simulated fault as for a real one', async () => {
    const noRetry = `${users}\n    retry: { max: 0 }`;
    const fault = (name: string, fails: string) =>
      problemsOf(
        noRetry,
        `record: { id: 17 }\nanswers: [{ request: GET https://api.example.com/users/17, fault: ${name} }]\nfails: ${fails}`,
      );
    expect(await fault('timeout', '{ class: timeout, message: no response within 30 s }')).toEqual([]);
    expect(await fault('refused', '{ class: network, message: /refused/ }')).toEqual([]);
    expect(await fault('reset', '{ class: network, message: /reset/ }')).toEqual([]);
    expect(await fault('unknown_host', '{ class: network, message: /not known/ }')).toEqual([]);
  });
});

describe('the waits option of a flow test', () => {
  const busy = '{ request: GET https://api.example.com/users/17, status: 503 }';

  test('lists the waits between attempts, without jitter, and even hours pass at once', async () => {
    const waits = (expected: string, flow = users) =>
      problemsOf(flow, `record: { id: 17 }\nanswers: [${busy}, ${busy}, ${ada}]\nrows: [{ name: Ada }]\nwaits: ${expected}`);
    expect(await waits('[1s, 2s]')).toEqual([]);
    expect(await waits('[1s, 2s]', `${users}\n    retry: { backoff: { initial: 1s, jitter: true } }`)).toEqual([]);
    expect(await waits('[1h, 2h]', `${users}\n    retry: { backoff: { initial: 1h, max: 1d } , max_wait: 1d }`)).toEqual([]);
    expect(await waits('[1s]')).toEqual(['waits: expected 1 s, found 1 s, 2 s']);
    expect(await waits('[]')).toEqual(['waits: expected none, found 1 s, 2 s']);
  });

  test('includes waits that the server requires, in seconds or as a date', async () => {
    const after = (value: string) => busy.replace('503', `503, headers: { retry-after: ${value} }`);
    const waits = (value: string) => problemsOf(users, `record: { id: 17 }\nanswers: [${after(value)}, ${ada}]\nwaits: [30s]`);
    expect(await waits('30')).toEqual([]);
    expect(await waits('"Thu, 01 Jan 2026 00:00:30 GMT"')).toEqual([]);
  });

  test('excludes the waits of a poll', async () => {
    const poll = `nodes:
  - type: poll
    every: 1m
    timeout: 1h
    until: status == "done"
    nodes: [{ type: http, url: https://api.example.com/job, map: [status] }]`;
    const state = (status: string) => `{ request: GET https://api.example.com/job, body: { status: ${status} } }`;
    const answers = `[${state('running')}, ${state('running')}, ${state('done')}]`;
    expect(await problemsOf(poll, `record: {}\nanswers: ${answers}\nrows: [{ status: done }]\nwaits: []`)).toEqual([]);
  });
});

describe('an MCP tool in a flow test', () => {
  const flow = `connections: { search: { type: mcp, command: no-such-program } }
nodes: [{ id: find, type: mcp, connection: search, tool: find, arguments: { q: "{{id}}" }, map: { hit: hits[0].title } }]`.replace(
    'hits[0].title',
    '"hits[0].title"',
  );
  const tool = (answers: string, more: string) => problemsOf(flow, `record: { id: x }\nanswers: ${answers}\n${more}`);

  test('can return structured content, or text', async () => {
    const body = '{ hits: [{ title: A }] }';
    expect(await tool(`[{ request: mcp search/find, arguments: { q: x }, body: ${body} }]`, 'rows: [{ hit: A }]')).toEqual([]);
    expect(await tool(`[{ request: mcp search/find, text: '{"hits":[{"title":"A"}]}' }]`, 'rows: [{ hit: A }]')).toEqual([]);
  });

  test('fails its record if the test contains an error or a fault instead of a result', async () => {
    expect(await tool('[{ request: mcp search/find, error: no }]', 'fails: { class: tool, message: /no$/ }')).toEqual([]);
    const faults = Array.from({ length: 4 }, () => '{ request: mcp search/find, fault: timeout }').join(', ');
    expect(await tool(`[${faults}]`, 'fails: { class: timeout }\nwaits: [1s, 2s, 4s]')).toEqual([]);
  });

  test('makes the test fail, and shows its arguments, if the test has no result for it', async () => {
    expect(await tool('[{ request: mcp search/find, arguments: { q: y } }]', 'fails: {}')).toEqual([
      'no answer is left for this request:\n  mcp search/find\n  arguments: {"q":"x"}',
      'the answer to mcp search/find with {"q":"y"} was not used: the flow sent no such request',
    ]);
  });
});

describe('a language model in a flow test', () => {
  const flowOf = (provider: string, more = '') => `
nodes:
  - id: sort
    type: llm
    provider: ${provider}
    model: m
    prompt: "{{text}}"
    output: { topic: { enum: [billing, other] } }${more}`;
  const asked = (flow: string, answers: string, more: string) => problemsOf(flow, `record: { text: hi }\nanswers: ${answers}\n${more}`);

  test.each(['openai', 'openai-responses', 'anthropic', 'gemini', 'ollama'])(
    "answers with the test's output or text (provider: %s)",
    async (provider) => {
      expect(await asked(flowOf(provider), '[{ request: llm sort, output: { topic: billing } }]', 'rows: [{ topic: billing }]')).toEqual(
        [],
      );
      expect(await asked(flowOf(provider), `[{ request: llm sort, text: '{"topic":"other"}' }]`, 'rows: [{ topic: other }]')).toEqual([]);
    },
  );

  test('is called once more if its answer does not fit the schema', async () => {
    const answers = '[{ request: llm sort, text: no idea }, { request: llm sort, output: { topic: other } }]';
    expect(await asked(flowOf('openai'), answers, 'rows: [{ topic: other }]')).toEqual([]);
  });

  test('can be used with max_cost and a rate limit', async () => {
    const paid = flowOf('openai', '\n    price: { input: 1, output: 1 }\n    max_cost: 1');
    const answers = '[{ request: llm sort, status: 429, headers: { retry-after: 5 } }, { request: llm sort, output: { topic: other } }]';
    expect(await asked(paid, answers, 'rows: [{ topic: other }]\nwaits: [5s]')).toEqual([]);
  });

  test('makes the run end, and the test fail, if the response says that no money is left', async () => {
    const [problem] = await asked(flowOf('openai'), '[{ request: llm sort, status: 402, body: {} }]', '');
    expect(problem).toMatch(/^the run ended early: the account has no money left/);
  });

  test('can have an HTTP response for its URL instead of an answer', async () => {
    const answer = `{ request: POST https://api.openai.com/v1/chat/completions, body: { choices: [{ message: { content: '{"topic":"other"}' } }] } }`;
    expect(await asked(flowOf('openai'), `[${answer}]`, 'rows: [{ topic: other }]')).toEqual([]);
  });
});

test('a flow test refuses an internal address from a record, as a run does', async () => {
  const flow = 'nodes: [{ type: http, url: "{{url}}", retry: { max: 0 } }]';
  const fails = 'fails: { class: request, message: /a link-local or metadata address/ }';
  expect(await problemsOf(flow, `record: { url: "https://169.254.169.254/latest" }\n${fails}`)).toEqual([]);
});

test('the set option of a flow test adds a field with a string value to each record', async () => {
  expect(
    await problemsOf(users, `records: [{}, { id: 18 }]\nset: { id: 17 }\nanswers: [${ada}, ${ada}]\nrows: [{ id: "17" }, { id: "17" }]`),
  ).toEqual([]);
});

test('the function now() in a flow test returns the start of 2026', async () => {
  const flow = 'nodes: [{ type: set, fields: { at: { cel: string(now()) } } }]';
  expect(await problemsOf(flow, 'record: {}\nrows: [{ at: /^2026-01-01T00:00:0/ }]')).toEqual([]);
});

test('a flow test does not read the environment variables of credentials', async () => {
  process.env.AUTOMATE_CREDENTIAL_CRM = 'canary';
  onTestFinished(() => void delete process.env.AUTOMATE_CREDENTIAL_CRM);
  const flow = 'nodes: [{ type: http, url: https://api.example.com/1, auth: { type: api_key, query: key, credential: crm } }]';
  expect(await problemsOf(flow, 'record: {}\nanswers: [{ request: "GET https://api.example.com/1?key=test-crm" }]')).toEqual([]);
});

describe('a 401 to an access token in a flow test', () => {
  const token = 'type: oauth2_client_credentials, credential: c, client_id: me, token_url: "https://id.example.com/token"';
  const refused = '{ request: GET https://api.example.com/users/17, status: 401 }';
  const problemsWith = (auth: string, answers: string, expected: string) =>
    problemsOf(`${users}\n    auth: { ${auth} }`, `record: { id: 17 }\nanswers: [${answers}]\n${expected}`);

  test.each([token, 'type: jwt, credential: c, issuer: i'])(
    'is followed by the same request with a new one, as in a run: %s',
    async (auth) => {
      expect(await problemsWith(auth, `${refused}, ${ada}`, 'rows: [{ name: Ada }]')).toEqual([]);
    },
  );

  test('needs no second answer', async () => {
    expect(await problemsWith(token, refused, 'fails: { class: http, status: 401 }')).toEqual([]);
  });

  test('is not repeated for a key', async () => {
    expect(await problemsWith('type: bearer, credential: c', `${refused}, ${ada}`, 'fails: { class: http, status: 401 }')).toEqual([
      'the answer to GET https://api.example.com/users/17 was not used: the flow did not send this request again',
    ]);
  });
});

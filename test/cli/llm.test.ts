import { readFile } from 'node:fs/promises';
import { LLMock } from '@copilotkit/aimock';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const rows = 'name\nAnn\nBob\n';

/** Starts a server that speaks all protocols and classifies the name in the prompt. */
async function models() {
  const mock = new LLMock({ port: 0 });
  mock.onMessage(/Ann/, { content: '{"kind":"a"}', usage: { prompt_tokens: 20, completion_tokens: 5 } });
  mock.onMessage(/Bob/, { content: '{"kind":"b"}', usage: { prompt_tokens: 20, completion_tokens: 5 } });
  await mock.start();
  onTestFinished(() => mock.stop());
  return mock;
}

const flow = (options: string) => `nodes:
  - type: llm
    model: m
    credential: none
    prompt: "Who is {{name}}?"
    system: You sort people.
    output: { kind: { enum: [a, b] } }
    ${options}
`;

describe('an llm node', () => {
  test.each([
    ['openai', '/v1', '/v1/chat/completions'],
    ['openai-responses', '/v1', '/v1/responses'],
    ['anthropic', '/v1', '/v1/messages'],
    ['gemini', '/v1beta', '/v1beta/models/m:generateContent'],
    ['ollama', '', '/api/chat'],
  ])('gets an answer for every record with the protocol %s', async (provider, base, path) => {
    const mock = await models();
    const place = await workplace({ 'rows.csv': rows, 'flow.yaml': flow(`provider: ${provider}\n    base_url: ${mock.url}${base}`) });
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect([run.code, run.stdout]).toEqual([0, 'name,kind\nAnn,a\nBob,b\n']);
    const seen = mock.getRequests().map((entry) => entry.path.replace(/\?.*/, ''));
    expect(seen).toEqual([path, path]);
  });
});

describe('a request to a language model', () => {
  test.each([
    ['openai', 'authorization', 'Bearer CANARY-key'],
    ['openai-responses', 'authorization', 'Bearer CANARY-key'],
    ['anthropic', 'x-api-key', 'CANARY-key'],
    ['gemini', 'x-goog-api-key', 'CANARY-key'],
  ])('to %s sends its credential in %s, and the credential is never printed', async (provider, header, value) => {
    const server = await httpServer((_request, response) => json(response, { error: { message: 'wrong key CANARY-key' } }, 400));
    const options = `provider: ${provider}\n    base_url: ${server.origin}\n    retry: { max: 0 }`;
    const place = await workplace({ 'rows.csv': rows, 'flow.yaml': flow(options).replace('    credential: none\n', '') });
    const name = `AUTOMATE_CREDENTIAL_${provider.replace('-responses', '').toUpperCase()}_API_KEY`;
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--events', 'events.ndjson'], {
      env: { [name]: 'CANARY-key' },
    });
    expect(run.code).toBe(4);
    expect(server.requests[0]?.headers[header]).toBe(value);
    for (const file of await place.files()) expect(await place.read(file)).not.toContain('CANARY');
    expect(run.stderr).toContain('wrong key ***');
  });

  test('is not sent if its credential does not exist, and the run exits with 7', async () => {
    const place = await workplace({ 'rows.csv': rows, 'flow.yaml': flow('provider: openai').replace('    credential: none\n', '') });
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(run.code).toBe(7);
    expect(run.stderr).toContain('openai-api-key');
  });

  test("is refused if the flow contains an API key in place of a credential's name", async () => {
    const key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc';
    const place = await workplace({ 'flow.yaml': flow('provider: openai').replace('none', key) });
    const { code, stderr } = await place.automate(['validate', 'flow.yaml']);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^flow.yaml:4:17: expected the name of a credential.*\n1 problem/)]);
    expect(stderr).not.toContain(key);
  });

  test('uses the server, the credential and the headers of its connection', async () => {
    const server = await httpServer((_request, response) => json(response, { message: { content: '{"kind":"a"}' } }));
    const connection = `connections: { box: { type: http, base_url: ${server.origin}/sub, auth: { type: bearer, credential: box }, headers: { X-Team: sales } } }`;
    const place = await workplace({
      'rows.csv': 'name\nAnn\n',
      'flow.yaml': `${connection}\n${flow('provider: ollama\n    connection: box').replace('    credential: none\n', '')}`,
    });
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env: { AUTOMATE_CREDENTIAL_BOX: 'sesame' } });
    expect([run.code, run.stdout]).toEqual([0, 'name,kind\nAnn,a\n']);
    expect(server.requests[0]).toMatchObject({ path: '/sub/api/chat', headers: { authorization: 'Bearer sesame', 'x-team': 'sales' } });
  });
});

describe('a run with a language model', () => {
  /** Starts a server that answers twice, and then reports that the account has no money left, until `pay` is called. */
  async function stingyServer() {
    let left = 2;
    const server = await httpServer((_request, response) => {
      if (left-- > 0)
        return json(response, {
          choices: [{ message: { content: 'x' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 10, completion_tokens: 0 },
        });
      return json(response, { error: { message: 'no money', code: 'insufficient_quota' } }, 429);
    });
    return { server, pay: () => (left = 99) };
  }

  test('exits with 5 once the account has no money left, and sends only unanswered prompts with --resume', async () => {
    const { server, pay } = await stingyServer();
    const yaml = `nodes: [{ type: llm, provider: openai, model: m, credential: none, concurrency: 1, prompt: "{{name}}", base_url: "${server.origin}/v1", price: { input: 100000, output: 0 } }]`;
    const place = await workplace({ 'rows.csv': 'name\n1\n2\n3\n4\n', 'flow.yaml': yaml });
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
    const first = await place.automate(args);
    expect(first.code).toBe(5);
    expect(first.stderr).toContain('no money');
    expect(first.stderr).toContain('llm-1: 20 tokens in, 0 out, cost 2');
    expect(await place.files()).not.toContain('out.errors.csv');
    pay();
    const second = await place.automate([...args, '--resume', '--summary', 'summary.json', '--report', 'report.html']);
    expect([second.code, await place.read('out.csv')]).toEqual([0, 'name,answer\n1,x\n2,x\n3,x\n4,x\n']);
    expect(server.requests).toHaveLength(5);
    expect(second.stderr).toContain('llm-1: 40 tokens in, 0 out, cost 4 (this part: 20 tokens in, 0 out, cost 2)');
    const part = [{ node: 'llm-1', input_tokens: 20, output_tokens: 0, cost: 2 }];
    expect(JSON.parse(await place.read('summary.json'))).toMatchObject({
      tokens: part,
      credits: 2,
      whole: { tokens: [{ ...part[0], input_tokens: 40, cost: 4 }], credits: 4 },
    });
    expect(await place.read('report.html')).toContain('20 in, 0 out, cost 2');
  });

  const refusals = {
    anthropic: { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' } },
    gemini: { error: { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } },
  };

  test.each([
    ['anthropic', 5, 'stopped: a limit is reached: '],
    ['gemini', 7, 'stopped: a credential is missing or refused: '],
  ] as const)(
    'stops after one request, and can be resumed, if %s responds with status 400 (exit code %d)',
    async (provider, code, says) => {
      const server = await httpServer((_request, response) => json(response, refusals[provider], 400));
      const records = Array.from({ length: 30 }, (_, index) => `name ${index}\n`).join('');
      const place = await workplace({
        'rows.csv': `name\n${records}`,
        'flow.yaml': flow(`provider: ${provider}\n    base_url: ${server.origin}\n    concurrency: 1`),
      });
      const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
      const run = await place.automate(args);
      expect([run.code, server.requests.length]).toEqual([code, 1]);
      expect(run.stderr).toContain(says);
      expect(run.stderr).toContain('--resume');
      expect(await place.files()).not.toContain('out.errors.csv');
      expect((await place.automate([...args, '--resume'])).code).toBe(code);
    },
  );

  test('compares max_cost with the cost of the whole run, including the parts before --resume', async () => {
    const { server, pay } = await stingyServer();
    pay();
    const yaml = `nodes: [{ type: llm, provider: openai, model: m, credential: none, prompt: "{{name}}", base_url: "${server.origin}/v1", price: { input: 100000, output: 0 }, max_cost: 2 }]`;
    const place = await workplace({ 'rows.csv': 'name\n1\n2\n3\n4\n', 'flow.yaml': yaml });
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
    const first = await place.automate(args);
    const again = await place.automate([...args, '--resume']);
    expect([first.code, again.code, server.requests.length]).toEqual([5, 5, 2]);
    for (const { stderr } of [first, again]) {
      expect(stderr).toContain('stopped: a limit is reached: ');
      expect(stderr).toContain('reason: max_cost 2 of llm-1: 2 spent, and the next call could cost ');
      expect(stderr).toContain('raise max_cost of llm-1, then resume with:\n');
    }
  });

  test('can be resumed with a higher max_cost, but not with a changed prompt', async () => {
    const { server, pay } = await stingyServer();
    pay();
    const yaml = `nodes: [{ type: llm, provider: openai, model: m, credential: none, prompt: "{{name}}", base_url: "${server.origin}/v1", price: { input: 100000, output: 0 }, max_cost: 2 }]`;
    const place = await workplace({ 'rows.csv': 'name\n1\n2\n3\n4\n', 'flow.yaml': yaml });
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
    expect((await place.automate(args)).code).toBe(5);
    await place.write('flow.yaml', yaml.replace('max_cost: 2', 'max_cost: 2.5e1').replace('{{name}}', 'I am {{name}}'));
    const other = await place.automate([...args, '--resume']);
    expect([other.code, other.stderr]).toEqual([73, expect.stringContaining('the flow has changed')]);
    await place.write('flow.yaml', yaml.replace('max_cost: 2', 'max_cost: 2.5e1'));
    const rest = await place.automate([...args, '--resume']);
    expect([rest.code, server.requests.length]).toEqual([0, 4]);
    expect(rest.stderr).toContain('llm-1: 40 tokens in, 0 out, cost 4 (this part: 20 tokens in, 0 out, cost 2)');
  });
});

test("test-request shows the prompt and the language model's answer", async () => {
  const mock = await models();
  const place = await workplace({ 'rows.csv': rows, 'flow.yaml': flow(`provider: openai\n    base_url: ${mock.url}/v1`) });
  const { code, stdout } = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
  expect(code).toBe(0);
  expect(stdout).toContain('Who is Ann?');
  expect(stdout).toMatch(/output\.kind\s+string\s+"?a/);
});

test('--dry-run estimates tokens and cost, and sends nothing', async () => {
  const mock = await models();
  const options = `provider: openai\n    base_url: ${mock.url}/v1\n    price: { input: 1000, output: 1000 }`;
  const place = await workplace({ 'rows.csv': rows, 'flow.yaml': flow(options) });
  const { code, stdout } = await place.automate([
    'run',
    'flow.yaml',
    '--in',
    'rows.csv',
    '--out',
    'out.csv',
    '--dry-run',
    '--summary',
    'plan.json',
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^tokens: {4}about 7\d in, up to 8,192 out, cost up to 8\.27$/m);
  expect(JSON.parse(await place.read('plan.json')).tokens).toEqual({
    input: expect.any(Number),
    max_output: 8192,
    max_cost: expect.any(Number),
  });
  expect(mock.getRequests()).toEqual([]);
});

test.each([
  ['max_tokens: 10', 0.012, 'cost up to 0.015; max_cost 0.012 of llm-1 will end the run after about 1 record if answers are that long'],
  ['max_tokens: 10', 0.016, 'cost up to 0.015'],
  ['max_tokens: 10', 0.001, 'cost up to 0.015; max_cost 0.001 of llm-1 will end the run before its first question'],
])('--dry-run with %s and max_cost %d prints "%s"', async (tokens, max, says) => {
  const mock = await models();
  const options = `provider: openai\n    base_url: ${mock.url}/v1\n    price: { input: 100, output: 370 }\n    ${tokens}\n    max_cost: ${max}`;
  const place = await workplace({ 'rows.csv': rows, 'flow.yaml': flow(options) });
  const { stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--dry-run']);
  expect(stdout).toMatch(/^tokens: /m);
  expect(stdout.split('\n').find((line) => line.startsWith('tokens:'))).toMatch(new RegExp(`${says.replaceAll('.', '\\.')}$`));
});

describe('the example flow support-tickets', () => {
  const example = (name: string) => readFile(new URL(`../../examples/support-tickets/${name}`, import.meta.url), 'utf8');

  test('sorts its tickets with any model that supports the protocol', async () => {
    const mock = new LLMock({ port: 0 });
    const wanted = (await example('expected.csv')).trim().split('\n').slice(1);
    const topics = wanted.map((line) => line.split(',').slice(-2));
    const subjects = ['Charged twice', 'Cannot log in', 'Blank page', 'Where is my parcel', 'A thank you'];
    for (const [index, subject] of subjects.entries()) {
      const [topic, urgency] = topics[index] as string[];
      mock.onMessage(new RegExp(subject), { content: JSON.stringify({ topic, urgency }) });
    }
    await mock.start();
    onTestFinished(() => mock.stop());
    const yaml = (await example('flow.yaml')).replace('http://127.0.0.1:4012', mock.url);
    const place = await workplace({ 'tickets.csv': await example('tickets.csv'), 'flow.yaml': yaml });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'tickets.csv']);
    expect([code, stdout]).toEqual([0, await example('expected.csv')]);
    expect(mock.getRequests()).toHaveLength(5);
  });
});

import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { inTurn } from '../helpers/paging.ts';
import { type FlowOptions, type GivenRecord, runFlow } from '../helpers/run-flow.ts';

const node = (options: string) => `nodes:\n  - { type: llm, model: m, ${options} }\n`;

/** Returns a response of the Chat Completions protocol. */
const said = (content: string, more: Record<string, unknown> = {}, usage = { prompt_tokens: 100, completion_tokens: 10 }): FakeAnswer => ({
  body: { model: 'm-1', choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop', ...more }], usage },
});

const asked = (options: string, answers: readonly FakeAnswer[], flow: FlowOptions & { records?: readonly GivenRecord[] } = {}) =>
  runFlow(node(`provider: openai, ${options}`), flow.records ?? [{ name: 'Ann' }], { http: inTurn(...answers), ...flow });

const bodyOf = ({ body }: { readonly body?: string }) => JSON.parse(body as string);

describe('a prompt for a language model', () => {
  test("contains the record's fields, and its answer is added to the record as text", async () => {
    const { rows, requests } = await asked('prompt: "Hello {{name}}", system: Be brief.', [said('Hi')]);
    expect(rows).toEqual([{ name: 'Ann', answer: 'Hi' }]);
    expect(requests).toMatchObject([{ method: 'POST', url: 'https://api.openai.com/v1/chat/completions', timeoutMs: 120_000 }]);
    expect(requests[0]?.auth).toEqual([{ type: 'bearer', credential: 'openai-api-key' }]);
    expect(bodyOf(requests[0] ?? {})).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello Ann' },
      ],
      max_completion_tokens: 4096,
    });
  });

  test('contains an empty string for null, and JSON for an object', async () => {
    const { requests } = await asked('prompt: "{{a}}|{{b}}"', [said('x')], { records: [{ a: null, b: { c: [1] } }] });
    expect(bodyOf(requests[0] ?? {}).messages[0].content).toBe('|{"c":[1]}');
  });

  test('is sent with tuning options only if the flow sets these', async () => {
    const { requests } = await asked('prompt: x, temperature: 0, seed: 7, top_p: 0.5, effort: low, max_tokens: 5', [said('x')]);
    expect(bodyOf(requests[0] ?? {})).toMatchObject({
      temperature: 0,
      seed: 7,
      top_p: 0.5,
      reasoning_effort: 'low',
      max_completion_tokens: 5,
    });
  });

  test('is not sent if it is blank, at no cost', async () => {
    const { rows, requests, credits } = await asked('prompt: " {{name}} ", output: { kind: {} }', [], { records: [{ name: ' ' }] });
    expect(rows).toEqual([{ name: ' ', kind: null }]);
    expect([requests.length, credits]).toEqual([0, 0]);
  });

  test('costs one credit if it is sent', async () => {
    expect((await asked('prompt: x', [said('x')])).credits).toBe(1);
  });
});

const sorted = 'prompt: "{{name}}", output: { kind: { enum: [a, b] }, size: { type: integer, optional: true } }';

describe('an llm node with the output option', () => {
  test('sends the output as a strict schema, and adds its properties as fields', async () => {
    const { rows, requests } = await asked(sorted, [said('{"kind":"a","size":1000}')]);
    expect(bodyOf(requests[0] ?? {}).response_format).toEqual({
      type: 'json_schema',
      json_schema: {
        name: 'output',
        strict: true,
        schema: {
          type: 'object',
          properties: { kind: { type: 'string', enum: ['a', 'b'] }, size: { type: ['integer', 'null'] } },
          required: ['kind', 'size'],
          additionalProperties: false,
        },
      },
    });
    expect(rows).toMatchObject([{ name: 'Ann', kind: 'a' }]);
  });

  test('accepts only a type for each property', async () => {
    const written = 'ratio: number, tags: list, ok: boolean, name: string';
    const whole = 'ratio: { type: number }, tags: { type: list }, ok: { type: boolean }, name: {}';
    const answer = said('{"ratio":0.5,"tags":["a"],"ok":true,"name":"x"}');
    const [short, long] = await Promise.all([written, whole].map((output) => asked(`prompt: x, output: { ${output} }`, [answer])));
    expect(short?.rows).toEqual([{ name: 'x', ratio: 0.5, tags: ['a'], ok: true }]);
    expect(short?.requests[0]?.body).toBe(long?.requests[0]?.body);
  });

  test('accepts an answer inside a Markdown code fence', async () => {
    const { rows } = await asked(sorted, [said('```json\n{"kind":"b","size":null}\n```')]);
    expect(rows).toEqual([{ name: 'Ann', kind: 'b', size: null }]);
  });

  test('asks once more, at no further cost, if the answer does not fit', async () => {
    const { rows, requests, credits, events } = await asked(`${sorted}, map: { kind: output.kind, tokens: usage.input_tokens }`, [
      said('{"kind":"c","size":1}'),
      said('{"kind":"a","size":1}'),
    ]);
    expect(rows).toEqual([{ name: 'Ann', kind: 'a', tokens: 200 }]);
    const { messages } = bodyOf(requests[1] ?? {});
    expect(messages.slice(0, 2)).toEqual([
      { role: 'user', content: 'Ann' },
      { role: 'assistant', content: '{"kind":"c","size":1}' },
    ]);
    expect(messages[2]).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/does not fit the schema \(kind: .*Answer again with JSON/),
    });
    expect(credits).toBe(1);
    expect(events.filter(({ type }) => type === 'tokens')).toHaveLength(2);
  });

  test.each([
    ['not JSON', 'Sure! It is an a.', /the answer does not fit the schema \(the answer is not JSON\), found Sure! It is an a\./],
    ['an object without a required property', '{"size":1}', /does not fit the schema \(kind is missing\)/],
    ['an object with an additional property', '{"kind":"a","size":1,"x":1}', /does not fit the schema/],
  ])('fails the record if the answer is repeatedly %s', async (_, text, message) => {
    const { failures, requests } = await asked(sorted, [said(text), said(text)]);
    expect(requests).toHaveLength(2);
    expect(failures).toMatchObject([{ class: 'answer', status: 200, message: expect.stringMatching(message) }]);
  });

  test('takes an optional property that the model has left out for null', async () => {
    const flow = 'prompt: x, invalid_retries: 0, output: { kind: string, size: { type: integer, optional: true } }';
    const { rows, requests } = await asked(flow, [said('{"kind":"a"}')]);
    expect(rows).toEqual([{ name: 'Ann', kind: 'a', size: null }]);
    expect(bodyOf(requests[0] ?? {}).response_format.json_schema.schema.required).toEqual(['kind', 'size']);
  });

  test('asks only once if invalid_retries is 0', async () => {
    const { failures, requests } = await asked(`${sorted}, invalid_retries: 0`, [said('x'.repeat(5_000_000))]);
    expect(requests).toHaveLength(1);
    expect(failures[0]?.message.length).toBeLessThan(300);
  });

  test('accepts a whole JSON Schema, which the answer must fulfil', async () => {
    const schema = '{ type: object, properties: { n: { type: integer, minimum: 3 } }, required: [n], additionalProperties: false }';
    const { rows, failures } = await asked(
      `prompt: "{{name}}", invalid_retries: 0, schema: ${schema}`,
      [said('{"n":3}'), said('{"n":2}')],
      {
        records: [{ name: 'a' }, { name: 'b' }],
      },
    );
    expect(rows).toEqual([{ name: 'a', n: 3 }]);
    expect(failures).toMatchObject([{ record: 2, class: 'answer' }]);
  });
});

describe('an output schema that OpenAI would refuse as strict', () => {
  const problemsOf = (schema: string, provider = 'openai') =>
    flowProblems(`nodes:\n  - type: llm\n    model: m\n    provider: ${provider}\n    prompt: x\n    schema: ${schema}\n`).map(onOneLine);
  const object = (properties: string, more = 'additionalProperties: false') => `{ type: object, properties: { ${properties} }, ${more} }`;
  const all = 'additionalProperties: false, required: [a]';

  test.each([
    ['{ type: object, properties: { a: { type: string } }, required: [a] }', ['6:13 expected additionalProperties: false, which']],
    [object('a: { type: string }', 'required: [a], additionalProperties: true'), [/^6:\d+ expected additionalProperties: false/]],
    [
      object('a: { type: string }'),
      ['6:13 required does not contain a: OpenAI requires every property in it; a property that can be null'],
    ],
    [object('a: { type: string }, b: { type: string }', all), [/^6:126 required does not contain b: OpenAI requires/]],
    [object('a: { type: string }', 'additionalProperties: false, required: [a, z]'), [/required lists z, which properties does not have/]],
    [object('a: { type: object }', all), ['6:46 expected additionalProperties: false, which']],
    [object('a: { type: array }', all), ['6:46 expected items: the schema of an element']],
    [object(`a: { type: array, items: ${object('b: { type: string }')} }`, all), [/^6:68 required does not contain b: OpenAI requires/]],
    [object('a: { enum: [x] }', all), ['6:46 expected a type, which OpenAI requires in every schema']],
    [object('a: { type: string, default: x }', all), ['6:71 OpenAI does not accept default in a strict schema']],
    [object('a: { oneOf: [{ type: string }] }', all), ['6:55 OpenAI does not accept oneOf in a strict schema; use anyOf']],
    [
      object('a: { anyOf: [{ type: string }, { type: array, items: { type: string }, uniqueItems: true }] }', all),
      [/does not accept uniqueItems/],
    ],
    [object('a: { type: string, format: uri }', all), [/expected one of the formats date-time, .*, found "uri"/]],
    [object('a: { $ref: "#/$defs/b" }', `${all}, $defs: { b: { type: object } }`), [/expected additionalProperties: false/]],
    ['{ type: array, items: { type: string } }', ['6:13 expected type: object at the top of the schema']],
    [
      `{ type: object, ${all}, properties: { a: { type: string, enum: [${Array.from({ length: 1001 }, (_, n) => `v${n}`)}] } } }`,
      [/at most 1000 values/],
    ],
  ])('is reported with its position in the flow: %s', (schema, wanted) => {
    const found = problemsOf(schema);
    expect(found).toEqual(wanted.map((one) => (typeof one === 'string' ? expect.stringContaining(one) : expect.stringMatching(one))));
    expect(found.every((problem) => problem.endsWith('; or write strict: false'))).toBe(true);
    expect(problemsOf(schema, 'openai-responses')).toEqual(found);
    for (const other of ['anthropic', 'gemini', 'ollama', 'openai\n    strict: false']) expect(problemsOf(schema, other)).toEqual([]);
  });

  test('is accepted once its problems are corrected', () => {
    const point = object('lat: { type: number, minimum: -90 }, lon: { type: number }', 'additionalProperties: false, required: [lat, lon]');
    const list = `list: { type: array, minItems: 1, items: ${point} }`;
    const properties = `name: { type: [string, "null"], pattern: "^a" }, kind: { type: string, enum: [a, b] }, on: { type: string, format: date }, ${list}`;
    expect(
      problemsOf(
        object(
          `${properties}, more: { anyOf: [${point}, { type: "null" }] }`,
          'additionalProperties: false, required: [name, kind, on, list, more]',
        ),
      ),
    ).toEqual([]);
  });

  test('is sent unchanged if strict is false', async () => {
    const { requests } = await asked('prompt: x, strict: false, schema: { type: object }', [said('{}')]);
    expect(bodyOf(requests[0] ?? {}).response_format.json_schema).toEqual({ name: 'output', strict: false, schema: { type: 'object' } });
  });
});

describe('a model server that is only partly compatible', () => {
  const bodyFor = async (options: string) => bodyOf((await asked(options, [said('x')])).requests[0] ?? {});

  test('receives max_tokens instead of max_completion_tokens if the flow sets max_tokens_name', async () => {
    const body = await bodyFor('prompt: x, max_tokens: 7, max_tokens_name: max_tokens');
    expect(body).toMatchObject({ max_tokens: 7 });
    expect(body).not.toHaveProperty('max_completion_tokens');
  });

  test('receives the parameters in the extra option unchanged', async () => {
    expect(await bodyFor('prompt: x, extra: { top_k: 5, safe_prompt: true, stop: ["{{name}}"], meta: { a: 1.50 } }')).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'x' }],
      max_completion_tokens: 4096,
      top_k: 5,
      safe_prompt: true,
      stop: ['{{name}}'],
      meta: { a: 1.5 },
    });
  });

  test.each([
    [
      'ollama',
      'options: { num_ctx: 8192 }, keep_alive: 5m',
      { options: { num_predict: 4096, num_ctx: 8192 }, keep_alive: '5m', stream: false },
    ],
    [
      'gemini',
      'generationConfig: { thinkingConfig: { thinkingBudget: 0 } }',
      { generationConfig: { maxOutputTokens: 4096, thinkingConfig: { thinkingBudget: 0 } } },
    ],
    ['anthropic', 'thinking: { type: disabled }', { max_tokens: 4096, thinking: { type: 'disabled' } }],
  ])("receives extra parameters inside the node's own objects (type %s): %s", async (provider, extra, body) => {
    const { requests } = await runFlow(node(`provider: ${provider}, prompt: x, extra: { ${extra} }`), [{}], { http: () => ({ body: {} }) });
    expect(bodyOf(requests[0] ?? {})).toMatchObject(body);
  });

  test.each([
    ['openai', 'model: x', '6:21 the node sets model itself'],
    ['openai', 'top_k: 5, messages: []', '6:34 the node sets messages itself'],
    ['openai', 'temperature: 1', '6:27 the node sets temperature itself; leave it out here, and use the option for it'],
    ['openai', 'max_tokens: 5', '6:26 the node sets max_tokens itself'],
    ['openai', 'stream: true', '6:22 the node sets stream itself'],
    ['ollama', 'options: { num_ctx: 1, num_predict: 5 }', '6:50 the node sets options.num_predict itself'],
    ['ollama', 'options: 5', '6:23 the node sets options itself'],
    ['gemini', 'generationConfig: { maxOutputTokens: 5 }', '6:51 the node sets generationConfig.maxOutputTokens itself'],
  ])('cannot receive a parameter that the node itself sets (type %s): { %s }', (provider, extra, problem) => {
    const flow = `nodes:\n  - type: llm\n    model: m\n    provider: ${provider}\n    prompt: x\n    extra: { ${extra} }\n`;
    expect(flowProblems(flow).map(onOneLine)).toEqual([expect.stringContaining(problem)]);
  });

  const forbidden = [
    { type: 'extra_forbidden', loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted', input: 4096 },
  ];
  const unsupported = {
    message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    code: 'unsupported_parameter',
  };
  const tooLarge = { message: 'max_completion_tokens is too large: 99999. This model supports at most 16384 completion tokens.' };
  test.each([
    [422, { object: 'error', message: { detail: forbidden }, type: 'invalid_request_error' }, 'max_completion_tokens', 'max_tokens'],
    [422, { detail: forbidden }, 'max_completion_tokens', 'max_tokens'],
    [400, { error: { message: 'Unrecognized request argument supplied: max_completion_tokens' } }, 'max_completion_tokens', 'max_tokens'],
    [400, { error: unsupported }, 'max_tokens', 'max_completion_tokens'],
    [400, { error: tooLarge }, 'max_completion_tokens', undefined],
    [422, { detail: [{ type: 'extra_forbidden', loc: ['body', 'seed'] }] }, 'max_completion_tokens', undefined],
  ])('responds %s %j to a request with %s: the failure message suggests %s', async (status, body, sent, other) => {
    const { failures } = await asked(`prompt: x, max_tokens_name: ${sent}`, [{ status, body }]);
    const advice = `\nthe server does not know ${sent}: write max_tokens_name: ${other}`;
    expect(failures).toHaveLength(1);
    expect(failures[0]?.message.includes('write max_tokens_name')).toBe(other !== undefined);
    if (other !== undefined) expect(failures[0]?.message.endsWith(advice)).toBe(true);
  });
});

describe('an unusable answer of a language model', () => {
  test.each([
    [
      'it was cut off, and the message mentions max_tokens',
      { finish_reason: 'length' },
      'the answer was cut off at max_tokens (4096): Well\nraise max_tokens, which includes the tokens for thinking. With effort: low, the model thinks less',
    ],
    ['it is a refusal', { finish_reason: 'content_filter' }, 'the model refused to answer: Well'],
    ['it contains a refusal', { message: { content: null, refusal: 'I cannot.' } }, 'the model refused to answer: I cannot.'],
  ])('fails the record without a retry: %s', async (_, choice, message) => {
    const { failures, requests } = await asked(sorted, [said('Well', choice)]);
    expect(requests).toHaveLength(1);
    expect(failures).toMatchObject([{ class: 'answer', message }]);
  });

  test('fails the record with the class "parse" if it is HTML with status 200', async () => {
    const { failures } = await asked('prompt: x', [{ body: '<html>', headers: { 'content-type': 'text/html' } }]);
    expect(failures).toMatchObject([{ class: 'parse', status: 200 }]);
  });
});

describe('a response from a model server with status 200 and no answer', () => {
  const failed = { status: 'failed', error: { code: 'server_error', message: 'The model broke' }, output: [] };
  test.each([
    ['openai', { error: { message: 'Provider returned error', code: 502 } }, 'the server says: Provider returned error'],
    ['openai', { foo: 1 }, 'expected an answer from a model, found {"foo":1}'],
    [
      'openai',
      { choices: [{ message: { content: null } }] },
      'expected an answer from a model, found {"choices":[{"message":{"content":null}}]}',
    ],
    ['openai', { choices: [{ error: { message: 'cut' }, message: { content: '' } }] }, 'the server says: cut'],
    ['openai-responses', failed, 'the server says: The model broke'],
    ['openai-responses', { status: 'completed', error: null, output: [] }, 'expected an answer from a model, found {"status":"completed"'],
    ['anthropic', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'the server says: Overloaded'],
    ['anthropic', { type: 'error', error: { type: 'overloaded_error' } }, 'expected an answer from a model, found {"type":"error"'],
    ['gemini', { error: { code: 500, message: 'internal', status: 'INTERNAL' } }, 'the server says: internal'],
    ['gemini', { candidates: [{ finishReason: 'STOP' }] }, 'expected an answer from a model, found {"candidates"'],
    ['ollama', { error: 'model "m" not found' }, 'the server says: model "m" not found'],
    ['ollama', { done: true }, 'expected an answer from a model, found {"done":true}'],
  ])('fails the record, with or without the output option, and is not cached: %s %j', async (provider, body, message) => {
    for (const output of ['', ', output: { kind: {} }']) {
      const one = `type: llm, model: m, provider: ${provider}, prompt: x, cache: 1h${output}`;
      const flow = `nodes: [{ ${one}, on_error: keep }, { ${one} }]`;
      const { failures, requests } = await runFlow(flow, [{}], { http: () => ({ body }) });
      expect(failures).toMatchObject([{ class: 'answer', status: 200, node: 'llm-2', message: expect.stringContaining(message) }]);
      expect(requests).toHaveLength(2);
    }
  });

  test('is included in the count of tokens if it contains such a count', async () => {
    const flow = [{ body: { choices: [{ message: { content: null } }], usage: { prompt_tokens: 7 } } }, { body: { error: 'x' } }];
    const { events } = await asked('prompt: "{{name}}", concurrency: 1', flow, { records: [{ name: 'a' }, { name: 'b' }] });
    expect(events.filter(({ type }) => type === 'tokens')).toMatchObject([{ record: 1, input: 7 }]);
  });
});

describe('a run with a paid language model', () => {
  test.each([
    [402, { message: 'Payment required' }],
    [429, { message: 'You exceeded your current quota', code: 'insufficient_quota' }],
    [429, { message: 'Your balance is too low', type: 'credit_balance_exhausted' }],
  ])('ends without failing the record if the account has no money left: status %s', async (status, error) => {
    const { rows, failures, requests, ending, credits } = await asked(
      'prompt: "{{name}}", concurrency: 1',
      [said('x'), { status, body: { error } }],
      {
        records: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
      },
    );
    expect([rows.length, failures.length, requests.length, ending, credits]).toEqual([1, 0, 2, 'max-credits', 1]);
  });

  const anthropicRefusal = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } });
  const lowBalance =
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.';
  const usageLimit = 'You have reached your specified API usage limits. You will regain access on 2026-10-01 at 00:00 UTC.';
  const exhausted = (message: string, details?: unknown[]) => ({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details } });
  const quota = (...quotaIds: string[]) => [
    { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: quotaIds.map((quotaId) => ({ quotaId })) },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' },
  ];
  const badKey = {
    code: 400,
    message: 'API key not valid. Please pass a valid API key.',
    status: 'INVALID_ARGUMENT',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' }],
  };

  test.each([
    [
      'anthropic',
      400,
      anthropicRefusal(lowBalance),
      'max-credits',
      `the account has no money left; the server answered 400: ${lowBalance}`,
    ],
    ['anthropic', 400, anthropicRefusal(usageLimit), 'max-credits', /^the account has no money left; .* regain access on 2026-10-01/],
    ['openai', 400, { error: { message: 'Billing hard limit', code: 'billing_hard_limit_reached' } }, 'max-credits', /no money left/],
    ['openai', 429, { error: { message: 'Not active', code: 'billing_not_active' } }, 'max-credits', /no money left/],
    ['gemini', 429, exhausted('Your prepayment credits are depleted. Please go to AI Studio.'), 'max-credits', /no money left/],
    ['gemini', 429, exhausted('Your project has exceeded its monthly spending cap.'), 'max-credits', /no money left/],
    [
      'gemini',
      429,
      exhausted(
        'You exceeded your current quota.',
        quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier', 'GenerateRequestsPerDayPerProjectPerModel-FreeTier'),
      ),
      'max-credits',
      "the day's quota of the account is used up; the server answered 429: You exceeded your current quota.",
    ],
    [
      'gemini',
      400,
      { error: badKey },
      'refused-credential',
      'the server refuses the key "gemini-api-key"; the server answered 400: API key not valid. Please pass a valid API key.',
    ],
    ['openai', 400, [{ error: badKey }], 'refused-credential', /^the server refuses the key "openai-api-key"; .* API key not valid/],
  ])(
    'ends without failing the record if %s reports an empty account or invalid key: %s %j',
    async (provider, status, body, wanted, message) => {
      const { rows, failures, requests, ending, events, credits } = await runFlow(
        node(`provider: ${provider}, prompt: "{{name}}", concurrency: 1`),
        [{ name: 'a' }, { name: 'b' }],
        { http: () => ({ status, body }) },
      );
      expect([rows.length, failures.length, requests.length, ending, credits]).toEqual([0, 0, 1, wanted, 0]);
      const reason = typeof message === 'string' ? message : expect.stringMatching(message);
      expect(events.filter(({ type }) => type === 'stopping')).toMatchObject([{ reason }]);
    },
  );

  test.each([
    ['anthropic', 400, anthropicRefusal('messages.0: the text "Your credit balance is too low" is not allowed')],
    ['anthropic', 400, anthropicRefusal('max_tokens: 99999 > 8192')],
    ['gemini', 400, { error: { ...badKey, details: [{ reason: 'FIELD_INVALID' }] } }],
    ['openai', 500, { error: { message: 'oops', code: 'insufficient_quota' } }],
    ['ollama', 400, anthropicRefusal(lowBalance)],
  ])('continues after an error that is about neither money nor the key: %s %s %j', async (provider, status, body) => {
    const flow = node(`provider: ${provider}, prompt: "{{name}}", concurrency: 1, retry: { max: 0 }`);
    const { failures, ending } = await runFlow(flow, [{ name: 'a' }, { name: 'b' }], { http: () => ({ status, body }) });
    expect([failures.length, ending]).toEqual([2, 'complete']);
  });

  test('waits, and does not end, after a 429 that concerns a quota per minute', async () => {
    const full = { status: 429, body: exhausted('slow down', quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier')) };
    const good = { body: { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }] } };
    const { rows, waitedMs } = await runFlow(node('provider: gemini, prompt: x'), [{}], { http: inTurn(full, good) });
    expect([rows.length, waitedMs]).toEqual([1, 1000]);
  });

  test('continues until the spent money reaches max_cost', async () => {
    const price = 'price: { input: 1000, output: 10000, cached_input: 0 }, max_tokens: 20';
    const options = `prompt: "{{name}}", ${price}, max_cost: 0.75, map: { cost: cost }`;
    const records = Array.from({ length: 9 }, (_, index) => ({ name: String(index) }));
    const { rows, requests, ending } = await asked(
      options,
      Array.from({ length: 9 }, () => said('x')),
      { records },
    );
    expect(rows.map(({ cost }) => cost)).toEqual([0.2, 0.2, 0.2]);
    // Each answer costs 0.2 but might cost up to 0.3, so no call is allowed after three answers.
    expect([requests.length, ending]).toEqual([3, 'max-credits']);
  });

  test.each([0.5, 0.75, 1, 1.5])('finishes every record whose answer is paid when max_cost %d ends the run', async (max) => {
    const options = `prompt: "{{name}}", price: { input: 1000, output: 10000 }, max_tokens: 20, max_cost: ${max}`;
    const flow = `${node(`provider: openai, ${options}`)}  - { type: http, url: "https://crm.test/{{name}}", map: { saved: ok } }\n`;
    const records = Array.from({ length: 30 }, (_, index) => ({ name: String(index) }));
    const http = async ({ url }: { readonly url: string }): Promise<FakeAnswer> => {
      await new Promise((resolve) => setImmediate(resolve));
      return url.startsWith('https://crm.test') ? { body: { ok: true } } : said('x');
    };
    const { rows, requests, ending } = await runFlow(flow, records, { http });
    const asked = requests.filter(({ url }) => !url.startsWith('https://crm.test')).length;
    // Each answer costs 0.2 but might cost up to 0.3.
    expect([asked, ending]).toEqual([Math.floor((max - 0.1) / 0.2 + 1e-9), 'max-credits']);
    expect(rows).toEqual(records.slice(0, asked).map((record) => ({ ...record, answer: 'x', saved: true })));
    expect(requests).toHaveLength(2 * asked);
  });

  test('sends no request of a record that has not begun when max_cost ends the run, and no further question of one that has', async () => {
    const ask = node('provider: openai, prompt: "{{name}}", price: { input: 1000, output: 10000 }, max_tokens: 20, max_cost: 0.5');
    const flow = ask.replace(
      'nodes:\n',
      'nodes:\n  - { type: http, url: "https://crm.test/{{name}}", concurrency: 4, map: { saved: ok } }\n',
    );
    const records = Array.from({ length: 100 }, (_, index) => ({ name: String(index) }));
    const http = async ({ url }: { readonly url: string }): Promise<FakeAnswer> => {
      await new Promise((resolve) => setImmediate(resolve));
      return url.startsWith('https://crm.test') ? { body: { ok: true } } : said('x');
    };
    const { rows, requests, ending } = await runFlow(flow, records, { http });
    const asked = requests.filter(({ url }) => !url.startsWith('https://crm.test')).length;
    expect([asked, rows.length, ending]).toEqual([2, 2, 'max-credits']);
    expect(requests.length).toBeLessThan(50);
  });

  test('never spends more than max_cost, even if the prompts differ greatly in length', async () => {
    const price = { input: 1, output: 2 };
    for (const max of [0.002, 0.003, 0.005, 0.02]) {
      const texts = Array.from({ length: 30 }, (_, index) => 'ab '.repeat(1 + ((index * 7919) % 1000)));
      const flow = node(`id: ask, provider: openai, prompt: "{{text}}", max_tokens: 300, price: { input: 1, output: 2 }, max_cost: ${max}`);
      const http = async ({ body }: { readonly body?: string }): Promise<FakeAnswer> => {
        const length = bodyOf({ body }).messages[0].content.length;
        return said('x', {}, { prompt_tokens: 8 + Math.ceil(length / 4), completion_tokens: 1 + (length % 300) });
      };
      const { events, ending, rows } = await runFlow(
        flow,
        texts.map((text) => ({ text })),
        { http },
      );
      const spent = events.reduce((sum, event) => sum + (event.type === 'tokens' ? (event.cost ?? 0) : 0), 0);
      expect(spent).toBeLessThanOrEqual(max);
      // The money that is left is less than the longest prompt might cost.
      if (ending !== 'complete') expect(spent).toBeGreaterThan(max - (1500 * price.input + 300 * price.output) / 1e6);
      if (ending === 'complete') expect(rows).toHaveLength(30);
    }
  });

  test('estimates the cost of waiting prompts from the token count of an earlier answer', async () => {
    const http = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return said('x', {}, { prompt_tokens: 10, completion_tokens: 0 });
    };
    const flow = node('provider: openai, prompt: "{{name}}", price: { input: 100000, output: 0 }, max_cost: 2');
    const { requests, ending } = await runFlow(
      flow,
      Array.from({ length: 9 }, (_, name) => ({ name: String(name) })),
      { http },
    );
    expect([requests.length, ending]).toEqual([2, 'max-credits']);
  });

  test('spends nothing if the first prompt might cost more than max_cost', async () => {
    const { requests, ending, events } = await asked('id: ask, prompt: "{{name}}", price: { input: 1, output: 15 }, max_cost: 0.05', []);
    expect([requests.length, ending]).toEqual([0, 'max-credits']);
    const reason = 'max_cost 0.05 of ask: 0 spent, and the next call could cost 0.0614 (max_tokens 4096)';
    expect(events).toContainEqual(expect.objectContaining({ type: 'stopping', reason }));
  });

  test('ends after the first answer if max_cost is set but answers do not report their tokens', async () => {
    const bare = { body: { choices: [{ message: { content: '{"kind":"x"}' }, finish_reason: 'stop' }] } };
    const options = 'id: ask, prompt: "{{name}}", price: { input: 1, output: 1 }, max_cost: 5';
    const records = ['a', 'b', 'c'].map((name) => ({ name }));
    const { rows, failures, requests, ending, events } = await asked(options, [bare, bare, bare], { records });
    expect([rows.length, failures.length, requests.length, ending]).toEqual([1, 0, 1, 'max-credits']);
    const reason = 'max_cost of ask cannot be enforced: the answers do not state their tokens; leave max_cost out to run without a maximum';
    expect(events).toContainEqual(expect.objectContaining({ type: 'stopping', reason }));
    const invalid = await asked(`${options}, output: { kind: { enum: [a] } }`, [bare, bare, bare], { records });
    expect([invalid.rows.length, invalid.requests.length, invalid.ending]).toEqual([0, 1, 'max-credits']);
  });

  test('counts a response without an answer as free, and continues', async () => {
    const options = 'prompt: "{{name}}", price: { input: 1, output: 1 }, max_cost: 5, concurrency: 1';
    const records = ['a', 'b'].map((name) => ({ name }));
    const { rows, failures, ending } = await asked(options, [{ body: { error: { message: 'broken' } } }, said('x')], { records });
    expect([rows.length, failures.length, ending]).toEqual([1, 1, 'complete']);
  });

  test('sends prompts without waiting for the cost of earlier prompts if max_cost is not set', async () => {
    let [inFlight, most] = [0, 0];
    const http = async () => {
      most = Math.max(most, ++inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight--;
      return said('x');
    };
    for (const price of ['', ', price: { input: 1, output: 1 }']) {
      await runFlow(
        node(`provider: openai, prompt: "{{name}}"${price}`),
        Array.from({ length: 20 }, (_, name) => ({ name: String(name) })),
        { http },
      );
      expect(most).toBe(8);
      most = 0;
    }
  });

  test('counts money that earlier parts of the run have spent towards max_cost', async () => {
    const options = 'id: ask, prompt: x, price: { input: 1, output: 1 }, max_cost: 0.5';
    const { requests, ending } = await asked(options, [said('x')], { costs: { ask: 0.5 } });
    expect([requests.length, ending]).toEqual([0, 'max-credits']);
  });

  test('charges cached tokens at their separate price', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 400 } };
    const { rows } = await asked(
      'prompt: x, price: { input: 10, output: 1, cached_input: 1 }, map: { cost: cost, cached: usage.cached_tokens }',
      [said('x', {}, usage)],
    );
    expect(rows).toMatchObject([{ cost: 0.0064, cached: 400 }]);
  });
});

describe('the wait before a retry of a model call', () => {
  const wait = async (headers: Record<string, string>, status = 429) => {
    const { waitedMs } = await asked('prompt: x', [{ status, headers, body: {} }, said('x')]);
    return waitedMs;
  };

  test.each([
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after-ms': '300', 'Retry-After': '1' }, 300],
    [{ 'retry-after-ms': 'soon', 'Retry-After': '1' }, 1000],
    [{ 'retry-after-ms': '2500', 'Retry-After': '1' }, 2500],
    [{ 'Retry-After': '1', 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 1000],
    [
      {
        'Retry-After': '2',
        'anthropic-ratelimit-input-tokens-reset': '2030-01-01T00:00:12Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        date: 'Tue, 01 Jan 2030 00:00:00 GMT',
      },
      2000,
    ],
    [{ 'x-ratelimit-reset-requests': '120ms', 'x-ratelimit-reset-tokens': '1m30s' }, 90_000],
    [
      {
        'x-ratelimit-reset-requests': '2s',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-tokens': '1m30s',
        'x-ratelimit-remaining-tokens': '7',
      },
      2000,
    ],
    [{ 'anthropic-ratelimit-tokens-reset': '2030-01-01T00:00:07Z', date: 'Tue, 01 Jan 2030 00:00:00 GMT' }, 7000],
  ])('follows the headers if the response is a 429 with %j', async (headers, ms) => {
    expect(await wait(headers)).toBe(ms);
  });

  test.each([
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'x-ratelimit-reset-requests': '3m' }, 180_000],
    [{ 'x-ratelimit-reset-requests': '3m', 'x-ratelimit-remaining-requests': '0' }, 180_000],
  ])('follows the headers if the response is a 503 with %j', async (headers, ms) => {
    expect(await wait(headers, 503)).toBe(ms);
  });

  test('ignores the headers of a 503 if they say that more requests are allowed', async () => {
    const left = { 'x-ratelimit-reset-requests': '3m', 'x-ratelimit-remaining-requests': '9' };
    expect(await wait(left, 503)).toBeLessThan(2000);
  });

  test.each([429, 503])("follows the retryDelay in the body of Gemini's %d", async (status) => {
    const error = { message: 'slow down', details: [{ '@type': 'RetryInfo', retryDelay: '34s' }] };
    const flow = node('provider: gemini, prompt: x');
    const good = { body: { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }] } };
    const waited = async (headers = {}) =>
      (await runFlow(flow, [{}], { http: inTurn({ status, headers, body: { error } }, good) })).waitedMs;
    expect(await waited()).toBe(34_000);
    expect(await waited({ 'Retry-After': '5' })).toBe(5000);
    expect(await waited({ 'x-ratelimit-reset-requests': '50s' })).toBe(50_000);
    expect(await waited({ 'x-ratelimit-reset-requests': '5s' })).toBe(34_000);
  });
});

describe('the check of a flow with an llm node', () => {
  test.each([
    ['prompt: x', 'is missing; expected openai, openai-responses, anthropic, gemini or ollama'],
    ['provider: openai, prompt: x, max_cost: 1', 'max_cost needs price'],
    ['provider: anthropic, prompt: x, seed: 1', 'anthropic has no seed'],
    ['provider: openai, prompt: x, output: { a: {} }, schema: { type: object }', 'expected output or schema, found both'],
    ['provider: openai, prompt: x, schema: { type: text }', 'not a usable JSON Schema: Unsupported type: text'],
    ['provider: openai, prompt: x, base_url: "http://llm.example.com"', 'http'],
    ['provider: openai, prompt: x, output: { tags: lst }', 'expected a type (string, number, integer, boolean, list), or a mapping'],
    ['provider: openai, prompt: x, output: { tags: [a] }', 'such as { enum: [a, b] }, found a list'],
    ['provider: anthropic, prompt: x, max_tokens_name: max_tokens', 'anthropic has no max_tokens_name'],
    ['provider: gemini, prompt: x, strict: false', 'gemini has no strict'],
    ['provider: openai, prompt: x, max_tokens_name: max_new_tokens', 'expected max_completion_tokens or max_tokens'],
    ['provider: openai, prompt: x, output: { a: { type: date } }', 'expected string, number, integer, boolean or list, found'],
  ])('finds a problem if the options are %s', async (options, message) => {
    expect(JSON.stringify(await flowProblems(node(options)))).toContain(message);
  });

  test('reports only one problem, and does not suggest auth, if the flow contains an API key', async () => {
    const key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc';
    const problems = flowProblems(node(`provider: openai, prompt: x, credential: ${key}`));
    expect(problems.map(onOneLine)).toEqual(['2:69 expected the name of a credential, found what looks like the secret itself']);
    expect(JSON.stringify(problems)).not.toContain(key);
  });
});

test("the summary of an llm node counts only the paths of the node's own map", async () => {
  const counted = async (map: string) => (await asked(`prompt: x${map}`, [said('x')])).events.filter(({ type }) => type === 'mapped');
  expect(await counted('')).toEqual([]);
  expect(await counted(', map: { a: text }')).toMatchObject([{ paths: ['text'], found: [true] }]);
});

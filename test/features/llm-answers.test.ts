import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { inTurn } from '../helpers/paging.ts';
import { runFlow } from '../helpers/run-flow.ts';

const message = (content: unknown, more: object = {}): FakeAnswer => ({
  body: { choices: [{ message: { role: 'assistant', content, ...more }, finish_reason: 'stop' }], usage: { prompt_tokens: 5 } },
});

const asked = (options: string, answers: readonly FakeAnswer[], provider = 'openai') =>
  runFlow(`nodes:\n  - { type: llm, model: m, provider: ${provider}, prompt: "{{name}}", ${options} }\n`, [{ name: 'Ann' }], {
    http: inTurn(...answers),
  });

const answerTo = async (content: unknown, options = 'seed: 1') => (await asked(options, [message(content)])).rows[0]?.answer;

const sorted = 'invalid_retries: 0, output: { kind: { enum: [a, b] } }';
const kindIn = async (content: unknown, options = sorted) => (await asked(options, [message(content)])).rows[0]?.kind;

describe('the thinking at the beginning of an answer', () => {
  test.each([
    ['<think>a & b</think>Hi'],
    ['\n<think>\nso, 1 < 2\n</think>\n\nHi'],
    ['<thinking>a</thinking> Hi'],
    ['<THINK>a</THINK>\nHi'],
    ['<think type="long">a</think>Hi'],
    ['<think></think>Hi'],
    ['<think>a</think>\n<think>b</think>\nHi'],
    ['<thought>a</thought><think>b</think>Hi'],
    ['<seed:think>a</seed:think>Hi'],
    ['[THINK]a[/THINK]Hi'],
    ['◁think▷a◁/think▷Hi'],
    ['<|START_THINKING|>a<|END_THINKING|>Hi'],
    ['<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hi'],
    ['Okay, the user wants a greeting.\n</think>\n\nHi'],
    ['I think so.</think>\nHi'],
  ])('is dropped: %j', async (content) => {
    expect(await answerTo(content)).toBe('Hi');
  });

  test.each([
    ['Hi <think>a</think> there'],
    ['Close it with </think>, always.'],
    ['`</think>`\nends it'],
    ['<thinker>a</thinker>'],
    ['<b>Hi</b>'],
    [' Hi '],
  ])('is only what stands at the beginning, in its tags: %j stays', async (content) => {
    expect(await answerTo(content)).toBe(content);
  });

  test('stays with thinking: keep, and an answer with a schema is read behind it', async () => {
    const content = '<think>{"kind":"b"} or not</think>\n{"kind":"a"}';
    expect(await answerTo(content, 'thinking: keep')).toBe(content);
    const { rows } = await asked(`${sorted}, thinking: keep, map: { kind: output.kind, text: text }`, [message(content)]);
    expect(rows).toEqual([{ name: 'Ann', kind: 'a', text: content }]);
  });

  test.each([['<think>I wonder'], ['<think>a</think>\n'], ['<think>a</think><think>b']])(
    'fails the record if there is nothing else: %j',
    async (content) => {
      const { failures, requests } = await asked('seed: 1', [message(content)]);
      expect(requests).toHaveLength(1);
      expect(failures).toMatchObject([
        {
          class: 'answer',
          message: expect.stringMatching(/^the model gave no answer after its thinking: <think>.*\nthinking: keep takes/s),
        },
      ]);
      expect(await answerTo(content, 'thinking: keep')).toBe(content);
    },
  );

  test('makes the model be asked again if there is nothing else and a schema, without an empty message', async () => {
    const { rows, requests } = await asked('output: { kind: {} }', [message('<think>hm'), message('{"kind":"a"}')]);
    expect(rows).toEqual([{ name: 'Ann', kind: 'a' }]);
    expect(JSON.parse(requests[1]?.body as string).messages).toEqual([
      { role: 'user', content: expect.stringMatching(/^Ann\n\nThe answer does not fit the schema/) },
    ]);
  });

  test('is not sent back to the model with an answer that does not fit', async () => {
    const { requests } = await asked('output: { kind: {} }', [message('<think>hm</think>{"k":1}'), message('{"kind":"a"}')]);
    expect(JSON.parse(requests[1]?.body as string).messages[1]).toEqual({ role: 'assistant', content: '{"k":1}' });
  });

  test('is no part of the answer if the server sends it separately', async () => {
    const { rows } = await asked('seed: 1', [message('Hi', { reasoning_content: 'hm', reasoning: 'hm' })]);
    expect(rows).toEqual([{ name: 'Ann', answer: 'Hi' }]);
  });

  test('can only be dropped or kept', () => {
    const found = flowProblems('nodes: [{ type: llm, model: m, provider: openai, prompt: x, thinking: yes }]');
    expect(found.map(onOneLine).join('\n')).toMatch(/expected drop or keep/);
  });
});

describe('an answer of content parts', () => {
  test.each<[unknown]>([
    [[{ type: 'text', text: 'Hi' }]],
    [
      [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'H' },
        { type: 'text', text: 'i' },
      ],
    ],
    [
      [
        { type: 'reasoning', text: 'hm' },
        { type: 'output_text', text: 'Hi' },
        { type: 'reference', reference_ids: [1] },
      ],
    ],
    [['H', 'i']],
    [{ type: 'text', text: 'Hi' }],
    [[{ type: 'text', text: { value: 'Hi' } }]],
    [[{ type: 'text', text: '<think>hm</think>' }, { text: 'Hi' }]],
  ])('is their text: %j', async (content) => {
    expect(await answerTo(content)).toBe('Hi');
  });

  test('can be a refusal', async () => {
    const { failures } = await asked('seed: 1', [message([{ type: 'refusal', refusal: 'I cannot.' }])]);
    expect(failures).toMatchObject([{ class: 'answer', message: 'the model refused to answer: I cannot.' }]);
  });

  test('without text fails the record', async () => {
    const { failures } = await asked('seed: 1', [message([{ type: 'image_url', image_url: { url: 'x' } }])]);
    expect(failures[0]?.message).toMatch(/^expected an answer from a model, found /);
  });

  test('is read from other providers, too', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'Hi' },
    ];
    for (const [provider, body] of [
      ['anthropic', { content, stop_reason: 'end_turn' }],
      ['ollama', { message: { content, thinking: 'hm' }, done_reason: 'stop' }],
      ['gemini', { candidates: [{ content: { parts: [{ text: 'hm', thought: true }, { text: 'Hi' }] }, finishReason: 'STOP' }] }],
    ] as const) {
      expect((await asked('top_p: 1', [{ body }], provider)).rows).toEqual([{ name: 'Ann', answer: 'Hi' }]);
    }
  });
});

test('an empty refusal is none', async () => {
  expect((await asked('seed: 1', [message('Hi', { refusal: '' })])).rows).toEqual([{ name: 'Ann', answer: 'Hi' }]);
});

describe('JSON in an answer', () => {
  test.each([
    ['Here is the result: {"kind":"a"}'],
    ['Sure!\n```json\n{"kind": "a"}\n```\nLet me know {if} you need "more".'],
    ['```\n{"kind":"a"}\n```'],
    ['~~~json\n{"kind":"a"}\n~~~'],
    ['```json\n{"kind":"a"}'],
    ['The {a} fits [1]: {"kind":"a"}. I said {"kind":"a"} already.'],
    ['Not {"kind":"c"} but {"kind":"a"}'],
    ['He said "{" and then {"kind":"a"}'],
    ['Answer: {"kind":"a"'.concat('}')],
    ['<think>{"kind":"b"}</think>{"kind":"a"}'],
    ['<reasoning>short</reasoning>\n{"kind":"a"}'],
    ['<tool_call>\n{"name": "output", "arguments": {"kind": "a"}}\n</tool_call>'],
    ['{"name":"output","parameters":{"kind":"a"}}'],
    ['"{\\"kind\\":\\"a\\"}"'],
    ['\ufeff{"kind":"a"}'],
  ])('is read among other text: %j', async (content) => {
    expect(await kindIn(content)).toBe('a');
  });

  test('keeps the digits of numbers', async () => {
    const { rows } = await asked('schema: { type: object, properties: { id: {} } }, strict: false', [
      message('Id: {"id": 12345678901234567890}'),
    ]);
    expect(JSON.stringify(rows)).toMatch(/12345678901234567890/);
  });

  test('can be a list or a text, if the schema says so', async () => {
    const read = async (schema: string, content: string) =>
      (await asked(`strict: false, schema: ${schema}, map: { value: output }`, [message(content)])).rows[0]?.value;
    expect(await read('{ type: array, items: { type: number } }', 'These: [1, 2]')).toEqual([1, 2]);
    expect(await read('{ type: string }', 'Here:\n```json\n"a"\n```')).toBe('a');
  });

  test.each([
    ['two different values that fit', 'Either {"kind":"a"} or {"kind":"b"}', 'the answer has 2 different values that fit it'],
    ['values that do not fit', 'It is {"kind":"c"}', 'kind: expected "a" or "b", found "c")'],
    ['other members', '{"kind":"a","x":1,"y z":2}', 'the schema does not have x, ["y z"])'],
    ['a value of another type', '{"kind":1}', 'kind: expected "a" or "b", found 1)'],
    ['a list instead of an object', '["a"]', 'the answer: expected object, found ["a"])'],
    ['no JSON', 'It is {a}', 'the answer is not JSON'],
    ['JSON that was cut off', 'It is {"kind":"a', 'the answer is not JSON'],
  ])('does not fit if there are %s', async (_, content, reason) => {
    const { failures } = await asked(sorted, [message(content)]);
    expect(failures).toMatchObject([{ class: 'answer', message: expect.stringContaining(`does not fit the schema (${reason}`) }]);
  });

  test('is looked for at a limited number of places', async () => {
    const { failures } = await asked(sorted, [message('{"'.repeat(50_000))]);
    expect(failures).toMatchObject([{ class: 'answer' }]);
    expect(await kindIn(`${'{"x '.repeat(19)}{"kind":"a"}`)).toBe('a');
  });
});

describe('an answer that calls a tool', () => {
  const call = { tool_calls: [{ type: 'function', function: { name: 'output', arguments: '{"kind":"a"}' } }] };
  const object = { function: { name: 'output', arguments: { kind: 'a' } } };
  const part = { type: 'tool_use', name: 'output', input: { kind: 'a' } };
  const item = { type: 'function_call', name: 'output', arguments: '{"kind":"a"}' };
  const answers = [
    ['openai', message(null, call).body],
    ['openai', message('', call).body],
    ['ollama', { message: { content: '', tool_calls: [object] }, done_reason: 'stop' }],
    ['anthropic', { content: [part], stop_reason: 'tool_use' }],
    ['gemini', { candidates: [{ content: { parts: [{ functionCall: { name: 'output', args: { kind: 'a' } } }] }, finishReason: 'STOP' }] }],
    ['openai-responses', { status: 'completed', output: [item] }],
  ] as const;
  test.each(answers)('has its answer in the arguments, if there is a schema: %s', async (provider, body) => {
    expect((await asked(sorted, [{ body }] as FakeAnswer[], provider)).rows).toEqual([{ name: 'Ann', kind: 'a' }]);
  });

  test.each(answers)('fails the record without a schema: %s', async (provider, body) => {
    const { failures } = await asked('top_p: 1', [{ body }] as FakeAnswer[], provider);
    expect(failures).toMatchObject([{ class: 'answer', message: 'the model wants to call the tool "output", and gave no answer' }]);
  });
});

test.each([
  ['max_tokens', /^the answer was cut off at max_tokens/],
  ['MAX_TOKENS', /^the answer was cut off at max_tokens/],
  ['model_length', /^the answer was cut off at max_tokens/],
  ['SAFETY', /^the model refused to answer/],
  ['insufficient_system_resource', /^the server ended the answer early: Well/],
])('an answer that ended with %s fails the record', async (reason, text) => {
  const { failures } = await asked('seed: 1', [{ body: { choices: [{ message: { content: 'Well' }, finish_reason: reason }] } }]);
  expect(failures).toMatchObject([{ class: 'answer', message: expect.stringMatching(text) }]);
});

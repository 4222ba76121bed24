import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { type FlowOptions, type GivenRecord, runFlow } from '../helpers/run-flow.ts';

const node = (more: string) => `nodes:\n  - type: http\n    url: https://api.example.com/x\n    method: POST\n    ${more}\n`;

const sent = async (more: string, record: GivenRecord, options: FlowOptions = {}) => {
  const { requests, failures } = await runFlow(node(more), [record], options);
  return { body: requests[0]?.body, type: requests[0]?.headers['Content-Type'], failures };
};

describe('a CEL expression in a body', () => {
  test('becomes its value, which keeps its type', async () => {
    const body = 'body: { id: { cel: int(pet) }, list: [{ cel: "double(price) * 2.0" }], in: { has: { cel: has(no) } }, name: "{{pet}}" }';
    expect(await sent(body, { pet: '7', price: '1.5' }, { csv: true })).toMatchObject({
      body: '{"id":7,"list":[3],"in":{"has":false},"name":"7"}',
      type: 'application/json',
    });
  });

  test('is treated as data if it is the whole body, not a string, or next to other keys', async () => {
    expect((await sent('body: { a: { cel: x, b: 1 }, c: { cel: 5 } }', {})).body).toBe('{"a":{"cel":"x","b":1},"c":{"cel":5}}');
    expect((await sent('body: { cel: x }', {})).body).toBe('{"cel":"x"}');
  });

  test('makes the record fail before anything is sent if it cannot be evaluated', async () => {
    const { body, failures } = await sent('body: { pet: { id: { cel: int(pet) } } }', { pet: 'x' });
    expect(body).toBeUndefined();
    expect(failures).toMatchObject([{ class: 'template', message: expect.stringMatching(/^body\.pet\.id cannot be made: /) }]);
  });

  test('keeps records with different values out of the same batch', async () => {
    const more = 'batch: { items: "{{id}}" }\n    body: { ids: "{{items}}", kind: { cel: "has(kind) ? kind : 0" } }';
    const { requests } = await runFlow(node(more), [{ id: 1, kind: 1 }, { id: 2, kind: 2 }, { id: 3 }, { id: 4, kind: 1 }]);
    expect(requests.map(({ body }) => body).sort()).toEqual(['{"ids":[1,4],"kind":1}', '{"ids":[2],"kind":2}', '{"ids":[3],"kind":0}']);
  });
});

describe('a body from the form option', () => {
  test('is percent-encoded, and repeats the name for each element of a list', async () => {
    const form = 'form: { a: "{{id}} & ü", n: 1.50, t: true, none: null, list: [x, "{{id}}"], tags: "{{tags}}", c: { cel: int(id) + 1 } }';
    expect(await sent(form, { id: '7', tags: ['p', 'q='] })).toMatchObject({
      body: 'a=7%20%26%20%C3%BC&n=1.50&t=true&none=&list=x&list=7&tags=p&tags=q%3D&c=8',
      type: 'application/x-www-form-urlencoded',
    });
  });

  test('is sent with the content type that the flow sets', async () => {
    const { type } = await sent('form: { a: 1 }\n    headers: { Content-Type: application/x-www-form-urlencoded; charset=utf-8 }', {});
    expect(type).toBe('application/x-www-form-urlencoded; charset=utf-8');
  });

  test('makes the record fail if the record lacks a field in the form', async () => {
    expect((await sent('form: { a: "{{b}}" }', {})).failures).toMatchObject([
      { class: 'template', message: 'the record has no field "b"' },
    ]);
  });

  test('can contain the list of a batch', async () => {
    const more = 'batch: { items: "{{id}}" }\n    form: { ids: "{{items}}" }';
    const { requests } = await runFlow(node(more), [{ id: 1 }, { id: 2 }]);
    expect(requests.map(({ body }) => body)).toEqual(['ids=1&ids=2']);
  });
});

describe('a body from the text option', () => {
  test('is sent unchanged', async () => {
    expect(await sent('text: "id={{id}}\\n{{odd}}"', { id: 7, odd: '"ü"' })).toMatchObject({
      body: 'id=7\n"ü"',
      type: 'text/plain; charset=utf-8',
    });
    expect((await sent('text: <a/>\n    headers: { content-type: application/xml }', {})).type).toBeUndefined();
  });
});

describe('an invalid request body', () => {
  test.each([
    ['body: { a: 1 }\n    form: { a: 1 }', ['6:11 expected at most one of body, form and text, found body and form']],
    ['form: { a: 1 }\n    text: x', ['6:11 expected at most one of body, form and text, found form and text']],
    ['form: { a: { b: 1 } }', ['5:16 ']],
    ['form: [a]', ['5:11 expected a mapping, found a list']],
    ['form: { a: [[1]] }', ['5:17 expected text with {{field}}']],
    ['text: { a: 1 }', ['5:11 expected a string, found a mapping']],
    ['body: { a: [{ cel: "int(" }] }', ['5:29 not a CEL expression']],
    ['form: { a: { cel: "1 +" } }', ['5:2']],
    ['batch: { items: "{{id}}" }\n    form: { a: 1 }', ['6:11 expected {{items}} in the body']],
    ['form: { a: 1 }\n    method_: GET', ['6:5 unknown key "method_"']],
    ['form: { api_key: abcdef1234567890abcdef1234567890 }', ['5:22 "api_key" in the body contains a literal secret']],
  ])('is reported with its position in the flow: %s', (more, expected) => {
    const problems = flowProblems(node(more)).map(onOneLine);
    expect(problems).toHaveLength(expected.length);
    for (const [index, start] of expected.entries()) expect(problems[index]).toContain(start);
  });

  test.each(['form: { a: 1 }', 'text: a'])('is reported if the method is GET: %s', (more) => {
    const problems = flowProblems(node(more).replace('POST', 'GET')).map(onOneLine);
    expect(problems).toEqual(['5:11 a GET request has no body; expected a method such as POST, PUT or PATCH']);
  });

  test('is reported if it refers to a field that the input does not have', () => {
    const problems = flowProblems(node('body: { a: { cel: int(ag) } }'), { header: ['age'] }).map(onOneLine);
    expect(problems).toEqual([expect.stringMatching(/^5:\d+ .*"ag".*did you mean "age"/)]);
  });
});

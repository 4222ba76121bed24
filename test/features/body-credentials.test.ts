import { describe, expect, test } from 'vitest';
import { flowProblems, planFor, shown } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

function flow(body: string, url = 'https://a.com/'): string {
  return `nodes:\n  - type: http\n    method: POST\n    url: "${url}"\n    body: ${body}\n`;
}

describe('a credential in a body', () => {
  test('is *** in the request, and the secret where it is sent, escaped as JSON', async () => {
    const { requests } = await runFlow(flow('{ id: "{{id}}", login: [{ credential: key }], more: { pin: { credential: pin } } }'), [
      { id: 7 },
    ]);
    const [request] = requests;
    expect(request?.body).toBe('{"id":7,"login":["***"],"more":{"pin":"***"}}');
    expect(request?.secretBody?.credentials).toEqual(['key', 'pin']);
    expect(request?.secretBody?.render((name) => `${name}"\\`)).toBe('{"id":7,"login":["key\\"\\\\"],"more":{"pin":"pin\\"\\\\"}}');
  });

  test('is needed before the run, at its place and for its origin', () => {
    const { credentials } = planFor(flow('{ key: { credential: crm-key } }'));
    expect(credentials.map(({ name, origins, problem }) => [name, origins, problem('x').line, problem('x').column])).toEqual([
      ['crm-key', ['https://a.com'], 5, 32],
    ]);
  });

  test('is not sent to an origin that a record names', async () => {
    const yaml = `${flow('{ key: { credential: k } }', '{{url}}')}  - { type: http, url: "https://a.com/", when: "false" }\n`;
    const { requests, failures } = await runFlow(yaml, [{ url: 'https://a.com/x' }, { url: 'https://evil.com/x' }]);
    expect(requests.map(({ url }) => url)).toEqual(['https://a.com/x']);
    expect(failures).toMatchObject([{ record: 2, class: 'request', attempts: 0 }]);
    expect(failures[0]?.message).toBe(
      'the body holds a secret ("k"), which is not sent to https://evil.com: the flow does not name that origin literally',
    );
  });

  test('stands in the body of a batch', async () => {
    const yaml = flow('{ key: { credential: k }, ids: "{{items}}" }\n    batch: { size: 2, items: "{{id}}" }');
    const { requests } = await runFlow(yaml, [{ id: 1 }, { id: 2 }], { http: () => ({ body: [{}, {}] }) });
    expect(requests.map(({ secretBody }) => secretBody?.render(() => 'S'))).toEqual(['{"key":"S","ids":[1,2]}']);
  });

  test('waits at a gate of its own', async () => {
    const yaml = `nodes:
  - { type: http, method: POST, url: "https://a.com/", body: { k: { credential: a } }, when: n == 1 }
  - { type: http, method: POST, url: "https://a.com/", body: { k: { credential: b } }, when: n == 2 }
`;
    const { requests } = await runFlow(yaml, [{ n: 1 }, { n: 2 }], {
      http: (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '7' } } : {}),
    });
    expect(requests.map(({ secretBody, atMs }) => [secretBody?.credentials, atMs])).toEqual([
      [['a'], 0],
      [['b'], 0],
      [['a'], 7000],
    ]);
  });

  test('makes cached answers of different credentials different', async () => {
    const yaml = `nodes:
  - { type: http, method: POST, url: "https://a.com/", body: { k: { credential: a } }, cache: 1h, when: n < 3 }
  - { type: http, method: POST, url: "https://a.com/", body: { k: { credential: b } }, cache: 1h, when: n == 3 }
`;
    const { requests } = await runFlow(yaml, [{ n: 1 }, { n: 2 }, { n: 3 }], { concurrency: 1 });
    expect(requests.map(({ secretBody }) => secretBody?.credentials)).toEqual([['a'], ['b']]);
  });

  test.each([
    ['{ credential: crm-key }', '{"credential":"crm-key"}'],
    ['{ a: { credential: x, other: y } }', '{"a":{"credential":"x","other":"y"}}'],
    ['{ a: { credential: 5 } }', '{"a":{"credential":5}}'],
    [`'{ "a": { "credential": "{{id}}" } }'`, '{ "a": { "credential": "7" } }'],
  ])('is only what has that one name and a text inside a mapping or list: %s', async (body, sent) => {
    const { requests } = await runFlow(flow(body), [{ id: '7' }]);
    expect([requests[0]?.body, requests[0]?.secretBody]).toEqual([sent, undefined]);
  });

  test.each([
    ['"{{id}}"', '5:32 expected a name of letters, digits, dots, dashes and underscores'],
    ['sk_live_abcdefghijkl1234', '5:32 expected the name of a credential, found what looks like the secret itself'],
  ])('is refused without a name: %s', (name, message) => {
    const problems = flowProblems(flow(`{ key: { credential: ${name} } }`)).map(shown);
    expect(problems.join('\n')).toContain(message);
    expect(problems.join('\n')).not.toContain('sk_live');
  });
});

import { describe, expect, test } from 'vitest';
import { flowProblems, planFor, shown } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

function flow(body: string, url = 'https://a.com/'): string {
  return `nodes:\n  - type: http\n    method: POST\n    url: "${url}"\n    body: ${body}\n`;
}

describe('a credential in a request body', () => {
  test('is shown as ***, and is sent as the secret, escaped as JSON', async () => {
    const { requests } = await runFlow(flow('{ id: "{{id}}", login: [{ credential: key }], more: { pin: { credential: pin } } }'), [
      { id: 7 },
    ]);
    const [request] = requests;
    expect(request?.body).toBe('{"id":7,"login":["***"],"more":{"pin":"***"}}');
    expect(request?.secretBody?.credentials).toEqual(['key', 'pin']);
    expect(request?.secretBody?.render((name) => `${name}"\\`)).toBe('{"id":7,"login":["key\\"\\\\"],"more":{"pin":"pin\\"\\\\"}}');
  });

  test('is reported before the run, with its position and the origin that receives it', () => {
    const { credentials } = planFor(flow('{ key: { credential: crm-key } }'));
    expect(credentials.map(({ name, origins, problem }) => [name, origins, problem('x').line, problem('x').column])).toEqual([
      ['crm-key', ['https://a.com'], 5, 32],
    ]);
  });

  test('is not sent to an origin that comes from a record', async () => {
    const yaml = `${flow('{ key: { credential: k } }', '{{url}}')}  - { type: http, url: "https://a.com/", when: "false" }\n`;
    const { requests, failures } = await runFlow(yaml, [{ url: 'https://a.com/x' }, { url: 'https://evil.com/x' }]);
    expect(requests.map(({ url }) => url)).toEqual(['https://a.com/x']);
    expect(failures).toMatchObject([{ record: 2, class: 'request', attempts: 0 }]);
    expect(failures[0]?.message).toBe(
      'the body contains a secret ("k"), which is not sent to https://evil.com: that origin is not written literally in the flow',
    );
  });

  test('can be in the body of a node with batches', async () => {
    const yaml = flow('{ key: { credential: k }, ids: "{{items}}" }\n    batch: { size: 2, items: "{{id}}" }');
    const { requests } = await runFlow(yaml, [{ id: 1 }, { id: 2 }], { http: () => ({ body: [{}, {}] }) });
    expect(requests.map(({ secretBody }) => secretBody?.render(() => 'S'))).toEqual(['{"key":"S","ids":[1,2]}']);
  });

  test('is paused separately: a 429 delays only requests with the same credential', async () => {
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

  test('keeps its cached responses apart from the responses for other credentials', async () => {
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
  ])('must be a mapping with only the key "credential", otherwise it is data: %s', async (body, sent) => {
    const { requests } = await runFlow(flow(body), [{ id: '7' }]);
    expect([requests[0]?.body, requests[0]?.secretBody]).toEqual([sent, undefined]);
  });

  test.each([
    ['"{{id}}"', '5:32 expected a name of letters, digits, dots, dashes and underscores'],
    ['sk_live_abcdefghijkl1234', '5:32 expected the name of a credential, found what looks like the secret itself'],
  ])('is refused if it is not the name of a credential: %s', (name, message) => {
    const problems = flowProblems(flow(`{ key: { credential: ${name} } }`)).map(shown);
    expect(problems.join('\n')).toContain(message);
    expect(problems.join('\n')).not.toContain('sk_live');
  });
});

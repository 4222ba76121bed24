import { describe, expect, test } from 'vitest';
import { type FlowOptions, type GivenRecord, runFlow } from '../helpers/run-flow.ts';

const vars = `vars:
  api: https://api.example.com
  crm: { default: "https://crm.example.com", staging: "https://crm.staging.example.com" }
  region: eu
  quote: 'say "hi" & <go>/..'
  n: 5
  half: 0.50
  below: -2
  isOn: true
`;

/** Returns the requests of a flow with one node and one record. */
async function sent(node: string, options: FlowOptions & { readonly record?: GivenRecord } = {}) {
  const { record = { id: 7 }, ...others } = options;
  const { requests, failures } = await runFlow(`${vars}nodes:\n  - ${node}\n`, [record], others);
  expect(failures).toEqual([]);
  return requests;
}

const urlOf = async (url: string) => (await sent(`{ type: http, url: "${url}" }`))[0]?.url;

describe('a variable in a URL', () => {
  test('is inserted unchanged at the beginning, and percent-encoded in the path and query', async () => {
    expect(await urlOf('{{vars.api}}/u/{{id}}?r={{vars.region}}')).toBe('https://api.example.com/u/7?r=eu');
    expect(await urlOf('https://{{vars.region}}.example.com/{{vars.quote}}?q={{vars.quote}}&n={{vars.half}}')).toBe(
      `https://eu.example.com/${encodeURIComponent('say "hi" & <go>/..')}?q=${encodeURIComponent('say "hi" & <go>/..')}&n=0.50`,
    );
  });

  test("counts as part of the flow's text, so the credential is sent to its host", async () => {
    const [request] = await sent('{ type: http, url: "{{vars.api}}/{{id}}", auth: { type: bearer, credential: crm } }');
    expect(request).toMatchObject({ origin: 'https://api.example.com', auth: [expect.objectContaining({ credential: 'crm' })] });
  });
});

describe('a variable in the options of a connection', () => {
  const flow = `${vars}connections:
  crm: { type: http, base_url: "{{vars.crm}}/v2", headers: { X-Region: "{{vars.region}}" }, rate: "{{vars.n}}/s", concurrency: "{{vars.n}}" }
nodes:
  - { type: http, connection: crm, url: "/users/{{id}}", timeout: "{{vars.n}}s" }
`;
  const urls = async (env: string) => {
    const { requests } = await runFlow(flow, [{ id: 7 }], { variables: { env: () => env } });
    return requests.map(({ url, headers }) => [url, headers['X-Region'] ?? headers['x-region']]);
  };

  test('has its value from the environment, or its default', async () => {
    expect(await urls('default')).toEqual([['https://crm.example.com/v2/users/7', 'eu']]);
    expect(await urls('staging')).toEqual([['https://crm.staging.example.com/v2/users/7', 'eu']]);
    expect(await urls('elsewhere')).toEqual([['https://crm.example.com/v2/users/7', 'eu']]);
  });

  test("can set the connection's rate; the command line overrides the flow's value", async () => {
    const starts = async (given: [string, string][]) => {
      const { requests } = await runFlow(flow, [{ id: 1 }, { id: 2 }], { variables: { given: new Map(given) } });
      return requests.map(({ atMs }) => atMs);
    };
    expect(await starts([])).toEqual([0, 200]);
    expect(await starts([['n', '10']])).toEqual([0, 100]);
  });
});

describe('a variable in a body', () => {
  const bodyOf = async (body: string) => (await sent(`{ type: http, method: POST, url: "https://a.example.com", ${body} }`))[0]?.body;

  test('keeps its type if it is the whole value', async () => {
    const body =
      'body: { n: "{{vars.n}}", h: "{{vars.half}}", on: "{{vars.isOn}}", t: "{{vars.region}}", s: "n{{vars.n}}", "k{{vars.n}}": "{{id}}" }';
    expect(await bodyOf(body)).toBe('{"n":5,"h":0.50,"on":true,"t":"eu","s":"n5","k5":7}');
  });

  test('is escaped as required by its position in a JSON text', async () => {
    expect(await bodyOf(`body: '{"a": "x{{vars.quote}}", "n": {{vars.n}}, "t": {{vars.region}}}'`)).toBe(
      '{"a": "xsay \\"hi\\" & <go>/..", "n": 5, "t": "eu"}',
    );
  });

  test('can be used in an expression inside the body', async () => {
    expect(await bodyOf('body: { a: { cel: "vars.n + 1" }, b: [{ cel: "vars.quote" }], c: { cel: "vars.n", d: 1 } }')).toBe(
      '{"a":6,"b":["say \\"hi\\" & <go>/.."],"c":{"cel":"vars.n","d":1}}',
    );
  });

  test('is encoded in a form, and inserted unchanged into a plain-text body', async () => {
    expect(await bodyOf('form: { a: "{{vars.quote}}", n: "{{vars.n}}" }')).toBe('a=say%20%22hi%22%20%26%20%3Cgo%3E%2F..&n=5');
    expect(await bodyOf('text: "{{vars.n}}"')).toBe('5');
  });
});

describe('a variable in an expression', () => {
  const kept = async (when: string) => {
    const flow = `${vars}nodes:\n  - type: set\n    when: ${JSON.stringify(when)}\n    fields: { kept: true }\n`;
    return (await runFlow(flow, [{ id: 7, tags: ['eu'] }])).rows[0]?.kept === true;
  };

  test.each([
    ['vars.region == "eu"', true],
    ['id - vars.below == 9', true],
    ['double(id) > vars.half && vars.isOn', true],
    ['vars["n"] == 5 && has(vars.n)', true],
    ['tags.exists(t, t == vars.region)', true],
    ['"vars.region" == "eu"', false],
    ['[1].all(vars, vars == 1)', true],
    ['vars.quote.contains("\\"hi\\"")', true],
  ])('can be used as a value: %s is %j', async (when, expected) => {
    expect(await kept(when)).toBe(expected);
  });

  test('can be combined with the fields of a response', async () => {
    const flow = `${vars}nodes:\n  - { type: http, url: "https://a.example.com", fail_when: "body.region != vars.region", map: [region] }\n`;
    const answers = [{ body: { region: 'eu' } }, { body: { region: 'us' } }];
    const { rows, failures } = await runFlow(flow, [{ id: 1 }, { id: 2 }], { http: (_request, index) => answers[index] ?? {} });
    expect([rows.length, failures.map(({ class: kind }) => kind)]).toEqual([1, ['answer']]);
  });
});

test('a set node can add variables to records, and keeps their types', async () => {
  const flow = `${vars}nodes:\n  - { type: set, fields: { n: "{{vars.n}}", t: "{{vars.region}}-{{id}}", half: "{{vars.half}}", cel: "vars.n" } }\n`;
  const { rows } = await runFlow(flow, [{ id: 7 }]);
  expect(rows.map((row) => JSON.stringify(row))).toEqual(['{"id":7,"n":5,"t":"eu-7","half":{"text":"0.50"},"cel":"vars.n"}']);
});

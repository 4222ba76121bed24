import { describe, expect, test } from 'vitest';
import type * as z from 'zod';
import { placeOfVariable } from '../../src/flow/variable-places.ts';
import type { VariableChoice } from '../../src/flow/variables.ts';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';
import { nodeTypes } from '../helpers/node-types.ts';

const get = 'nodes:\n  - { type: http, url: "https://api.example.com/{{id}}" }\n';

const problems = (yaml: string, variables: VariableChoice = {}) => flowProblems(yaml, { variables }).map(onOneLine);

describe('a variable that has no value', () => {
  const flow =
    'vars:\n  region: null\n  crm: { staging: https://s.example.com }\n  gone: { default: a, live: null }\nnodes:\n  - { type: http, url: "{{vars.crm}}/{{vars.region}}/{{vars.gone}}" }\n';

  test('is reported once, at its name, and causes no other problem', () => {
    expect(problems(flow)).toEqual([
      '2:3 the variable "region" has no value',
      '3:3 the variable "crm" has no value for the environment default, and no default',
    ]);
    expect(problems(flow, { env: () => 'live' }).at(-1)).toBe(
      '4:3 the variable "gone" has no value for the environment live, and no default',
    );
  });

  test('is accepted if a value comes from the command line or the environment', () => {
    expect(problems(flow, { env: () => 'staging', given: new Map([['region', 'eu']]) })).toEqual([]);
    expect(problems('vars: { a: "" }\nnodes: [{ type: http, url: "https://a.example.com/?a={{vars.a}}" }]')).toEqual([]);
  });

  test.each(['rate', 'concurrency', 'timeout'])('causes no other problem if it is used as the %s', (option) => {
    expect(problems(`vars: { a: null }\n${get.replace(' }', `, ${option}: "{{vars.a}}" }`)}`)).toEqual([
      '1:9 the variable "a" has no value',
    ]);
  });

  test('can get the value 1e1 where a number is expected', () => {
    const flow = `vars: { a: 2 }\n${get.replace(' }', ', concurrency: "{{vars.a}}" }')}`;
    expect(problems(flow, { given: new Map([['a', '1e1']]) })).toEqual([]);
    expect(problems(flow.replace('a: 2', 'a: 1e1'))).toEqual([]);
  });

  test('can be compared with a value of any type in an expression', () => {
    expect(problems(`vars: { a: null }\n${get.replace(' }', ', when: "vars.a > 5" }')}`)).toEqual(['1:9 the variable "a" has no value']);
  });
});

describe('a variable that is not declared', () => {
  test('is reported where it is used, with the most similar declared variable', () => {
    expect(
      flowProblems(
        'vars: { region: eu }\nnodes:\n  - { type: http, url: "https://a.example.com/{{id}}?r={{vars.regoin}}&s={{vars.region}}" }\n',
      ).map(shown),
    ).toEqual([
      [
        '3:56 the flow has no variable "regoin"; did you mean "region"?',
        '  - { type: http, url: "https://a.example.com/{{id}}?r={{vars.regoin}}&s={{vars.region}}" }',
        `${' '.repeat(55)}${'^'.repeat('{{vars.regoin}}'.length)}`,
      ].join('\n'),
    ]);
  });

  test.each([
    ['a flow without any variables', '', '2:24'],
    ['a flow with other variables', 'vars: { zzz: 1 }\n', '3:24'],
  ])('is reported in %s', (_, vars, place) => {
    const found = problems(`${vars}nodes:\n  - { type: http, url: "{{vars.api}}/{{id}}" }\n`);
    expect(found.map((text) => text.split(' ')[0])).toEqual([place.replace('24', '25')]);
  });

  test.each([
    ['when: "1 == 1 && vars.nope == 2"', '3:46'],
    ['when: \'vars["nope"] == 2\'', '3:36'],
    ['body: { a: { cel: "vars.nope" } }, method: POST', '3:48'],
  ])('is marked inside the expression in %s', (option, place) => {
    const found = problems(`vars: { a: 1 }\nnodes:\n  - { type: http, url: a, ${option} }\n`.replace('url: a', 'url: "https://a.co"'));
    expect(found.filter((text) => text.includes('nope')).map((text) => text.split(' ')[0])).toHaveLength(1);
    expect(found.some((text) => text.startsWith(place.split(':')[0] as string))).toBe(true);
  });
});

test('an unused variable causes a warning and is left out of the plan', () => {
  const plan = planFor(`vars:\n  used: 1\n  idle: 2\n${get.replace('{{id}}', '{{id}}?a={{vars.used}}')}`);
  expect(plan.warnings().map(onOneLine)).toEqual(['3:3 the variable "idle" is never used']);
  expect([...plan.variables.values]).toEqual([['used', '1']]);
});

describe('problems that come after a variable in the flow file', () => {
  const long = `vars: { v: "${'x'.repeat(40)}", n: 1 }\nnodes:\n`;

  test.each([
    ['"vars.v == \'a\' && foo(b)"', 12 + "vars.v == 'a' && ".length],
    ['"foo(vars.v)"', 12],
    ['"vars.v == vars.v ||"', 12 + 'vars.v == vars.v ||'.length],
  ])('are reported at the right position in the expression %s', (when, column) => {
    const found = flowProblems(`${long}  - type: set\n    when: ${when}\n`);
    expect(found.map(({ line, column: at }) => [line, at])).toEqual([[4, column]]);
  });

  test('are reported at the right position in a template', () => {
    const found = flowProblems(`${long}  - { type: http, url: "https://a.example.com/{{vars.v}}/{{idd}}?n={{vars.n}}" }\n`, {
      header: ['id'],
    });
    expect(found.map(onOneLine)).toEqual(['3:58 no record has a field "idd" here; did you mean "id"?']);
  });

  test('are reported at the right position in an expression over several lines', () => {
    const found = flowProblems(`${long}  - type: set\n    when: >\n      vars.v == 'a' &&\n      foo(b)\n`);
    expect(found.map(({ line, column }) => [line, column])).toEqual([[6, 7]]);
  });
});

describe('the positions where a variable is allowed', () => {
  const refused = 'a variable is not allowed here';

  test.each([
    ['auth: { type: bearer, credential: "{{vars.a}}" }'],
    ['auth: { type: api_key, header: "{{vars.a}}", credential: b }'],
    ['method: "{{vars.a}}"'],
    ['connection: "{{vars.a}}"'],
    ['id: "{{vars.a}}"'],
    ['map: { name: "{{vars.a}}" }'],
    ['retry: { max: "{{vars.a}}" }'],
    ['method: POST, body: { k: { credential: "{{vars.a}}" } }'],
  ])('exclude the node option %s', (option) => {
    const found = problems(`vars: { a: b }\n${get.replace(' }', `, ${option} }`)}`);
    expect(found.filter((text) => text.endsWith(refused))).toHaveLength(1);
  });

  test.each([
    ['name: "{{vars.a}}"\n'],
    ['allow_hosts: ["{{vars.a}}"]\n'],
    ['connections: { c: { type: mcp, command: "run {{vars.a}}" } }\n'],
    ['connections: { c: { type: mcp, command: run, credentials: { X: "{{vars.a}}" } } }\n'],
  ])('exclude the flow option %s', (top) => {
    expect(problems(`vars: { a: b }\n${top}${get}`).filter((text) => text.endsWith(refused))).toHaveLength(1);
  });

  test.each([
    ['c: { type: http, base_url: "https://{{vars.a}}.example.com" }'],
    [
      'c: { type: http, base_url: "https://x.co", auth: { type: oauth2_client_credentials, token_url: "https://{{vars.a}}/t", client_id: "{{vars.a}}", credential: x } }',
    ],
    ['c: { type: mcp, url: "https://{{vars.a}}.example.com/mcp", start_timeout: "{{vars.a}}0s" }'.replace('"{{vars.a}}0s"', '30s')],
  ])('include the connection option %s', (connection) => {
    expect(problems(`vars: { a: b }\nconnections:\n  ${connection}\n${get}`)).toEqual([]);
  });

  test('include every node option in which fields are allowed', () => {
    const taking = nodeTypes.flatMap(({ options }) =>
      Object.entries(options.shape).flatMap(([option, schema]) =>
        (schema as z.ZodType).description?.includes('{{field}}') ? [option] : [],
      ),
    );
    expect(taking).toEqual(expect.arrayContaining(['url', 'headers', 'text', 'arguments', 'prompt', 'system', 'address']));
    for (const option of taking) {
      const place = { names: ['nodes', option], isKey: false, isAlone: false, isInList: false };
      expect([option, placeOfVariable(place)]).not.toEqual([option, undefined]);
    }
  });

  test('exclude braces in an expression, and the message shows the correct form', () => {
    const [problem] = flowProblems(`vars: { a: b }\n${get.replace(' }', ', when: "{{vars.a}} == id" }')}`);
    expect(problem?.message).toBe('expected fields without braces, as in: vars.a == id');
  });

  test('exclude braces with spaces inside, which stay text and cause a warning', () => {
    const plan = planFor(`vars: { a: b }\n${get.replace('{{id}}', '{{vars.a}}/{{ vars.a }}')}`);
    expect(plan.warnings().map(({ message }) => message)).toEqual([
      '{{ vars.a }} is not a reference and stays text; there can be no spaces between the braces\nwrite {{vars.a}}',
    ]);
  });
});

describe('a variable that callers of the server are allowed to set', () => {
  const open = 'vars: { a: b }\nopen_vars: [a]\n';

  test.each([
    ['url: "https://{{vars.a}}.example.com/"'],
    ['url: "{{vars.a}}/x"'],
    ['url: "https://x.example.com{{vars.a}}/x"'],
    ['url: "https:{{vars.a}}"'],
    ['connection: c, url: "{{vars.a}}"'],
  ])('cannot be used in the host of %s', (url) => {
    const found = problems(
      `${open}connections: { c: { type: http, base_url: "https://c.example.com" } }\nnodes: [{ type: http, ${url} }]\n`,
    );
    const expected = /^4:\d+ "a" is listed in open_vars: it is not allowed in the host of a URL/;
    expect(found.filter((text) => expected.test(text))).toHaveLength(1);
  });

  test.each([
    ['base_url: "https://c.example.com/{{vars.a}}"', 'base_url'],
    ['base_url: "https://c.co", headers: { hOsT: "{{vars.a}}.c.co" }', 'the Host header'],
    [
      'base_url: "https://c.co", auth: { type: oauth2_client_credentials, token_url: "https://c.co/{{vars.a}}", client_id: d, credential: e }',
      'token_url',
    ],
  ])('cannot be used in %s', (options, name) => {
    expect(problems(`${open}connections: { c: { type: http, ${options} } }\n${get}`)[0]).toContain(`it is not allowed in ${name}`);
  });

  test('cannot be used in the host through a YAML alias', () => {
    expect(
      problems(`${open}nodes:\n  - { type: http, url: "https://x.co", headers: { X: &h "{{vars.a}}" } }\n  - { type: http, url: *h }\n`)[0],
    ).toContain('the host of a URL');
  });

  test('can be used in a path, a query, a header and a body', () => {
    expect(
      problems(
        `${open}nodes: [{ type: http, method: POST, url: "https://x.co/{{vars.a}}?b={{vars.a}}", headers: { X: "{{vars.a}}" }, body: { a: "{{vars.a}}" } }]\n`,
      ),
    ).toEqual([]);
  });

  test('must be declared in vars', () => {
    expect(problems(`vars: { region: eu }\nopen_vars: [regio]\n${get}`)).toContain(
      '2:13 the flow has no variable "regio"; did you mean "region"?',
    );
  });
});

describe('the value of a variable', () => {
  test.each([
    ['a: [1]', '1:12', 'expected a string, a number, true, false, or null for a value that must be given, found a list'],
    ['a: { default: [1] }', '1:23', 'expected a string, a number, true, false, or null for a value that must be given, found a list'],
    ['"a-b": 1', '1:9', 'expected the name of a variable such as api_url: letters, digits and underscores'],
    ['a: "{{id}}"', '1:12', 'the value of a variable is fixed for the run: expected no references in it, found {{'],
  ])('is refused if the declaration is %s', (written, place, message) => {
    expect(problems(`vars: { ${written} }\n${get}`)).toEqual([`${place} ${message}`]);
  });

  test('can be a YAML alias', () => {
    const flow = 'vars:\n  a: &a { default: x, live: y }\n  b: *a\n  c: { live: &c z }\n  d: *c\n';
    const plan = planFor(`${flow}${get.replace('{{id}}', '{{vars.a}}{{vars.b}}{{vars.c}}{{vars.d}}')}`, {
      variables: { env: () => 'live' },
    });
    expect([...plan.variables.values]).toEqual([
      ['a', '"y"'],
      ['b', '"y"'],
      ['c', '"z"'],
      ['d', '"z"'],
    ]);
    // A value with an anchor can be used elsewhere in the flow, so `vars` has no source range of its own.
    expect(plan.variables.range).toBeUndefined();
  });

  test.each(['client_id: 0oa1b2c3d4E5f6G7h8i9', 'commit: 9f8b6c1e2d3a4b5c8d7e0f1a2b3c4d5e9f8b6c1e', 'token_url: "https://x.co/token"'])(
    'is not suspected to be a secret: %s',
    (written) => {
      const name = written.split(':')[0];
      expect(problems(`vars: { ${written} }\n${get.replace('{{id}}', `{{vars.${name}}}`)}`)).toEqual([]);
    },
  );

  test('is refused if it would lead to a different path in a URL, as .. does', () => {
    expect(problems('vars: { a: ".." }\nnodes: [{ type: http, url: "https://x.co/v1/{{vars.a}}/{{id}}" }]')[0]).toMatch(/has a segment/);
  });

  test.each([
    ['api_key: abc123def'],
    ['token: { default: null, staging: abc123def4 }'],
    ['a: "https://me:pass@x.example.com"'],
    ['a: "https://x.example.com/?api_key=abc123def"'],
    [`a: ghp_${'a1B2'.repeat(9)}`],
    ['a: "Bearer abc123def456"'],
  ])('is refused, without being printed, if it looks like a secret: %s', (written) => {
    const found = flowProblems(`vars: { ${written} }\n${get}`, { variables: { env: () => 'staging' } });
    expect(found.map(({ message }) => message).join('\n')).toMatch(
      /contains a literal secret\na variable must not contain a secret; store it: automate credentials set \S+\n/,
    );
    expect(JSON.stringify(found)).not.toMatch(/abc123def|me:pass|a1B2a1B2/);
  });

  test('counts as a literal secret if it is used where a literal secret is refused', () => {
    const found = flowProblems(`vars: { a: abc }\n${get.replace(' }', ', headers: { X-API-Key: "{{vars.a}}" } }')}`);
    expect(found.map(onOneLine)).toEqual([expect.stringContaining('the header "X-API-Key" contains a literal secret')]);
  });
});

describe('the shell syntax for variables (such as $NAME) in a flow', () => {
  const shell = '$'.concat('{API_URL}');

  test.each([
    [`connections: { c: { type: http, base_url: "${shell}" } }\n`],
    [`connections: { c: { type: http, base_url: "https://${shell}/x" } }\n`],
    ['connections: { c: { type: mcp, url: "$API_URL" } }\n'],
    [
      `connections: { c: { type: http, base_url: "https://c.co", auth: { type: oauth2_client_credentials, token_url: "${shell}", client_id: a, credential: b } } }\n`,
    ],
  ])('is refused in %s, and the message shows how to use vars', (top) => {
    expect(flowProblems(top + get).map(({ message }) => message)).toEqual([
      expect.stringContaining('declare it in the flow: vars: { api_url: VALUE }, and write {{vars.api_url}}'),
    ]);
  });

  test('is refused at the start of a URL, and causes a warning in its path', () => {
    const flow = (url: string) => `nodes: [{ type: http, url: "${url}" }]\n`;
    expect(flowProblems(flow(`${shell}/x`)).map(({ message }) => message)).toEqual([expect.stringContaining('{{vars.api_url}}')]);
    expect(
      planFor(flow(`https://x.co/${shell}`))
        .warnings()
        .map(({ message }) => message),
    ).toEqual([expect.stringContaining('{{vars.api_url}}')]);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flowProblems } from '../../helpers/flow-problems.ts';
import { said, secret } from './canary.ts';

describe('a literal secret in an invalid flow', () => {
  test.each([
    `headers: Bearer ${secret}`,
    `headers: "X-API-Key: ${secret}"`,
    `headers: [Authorization, ${secret}]`,
    `headers: [{ name: Authorization, value: ${secret} }]`,
    `headers: { Authorization: [${secret}] }`,
    `headers: { Authorization: { value: ${secret} } }`,
    `headers: { Authorization: Bearer ${secret}`,
    `headers: { Authorization: "Bearer ${secret} }`,
    `headers: { Authorization: Bearer ${secret}, timeout: }}`,
    `headers:\n      Authorization: Bearer ${secret}\n     X: y`,
    `headers:\n      Authorization: a: ${secret}`,
    `headers: Authorization: Bearer ${secret}`,
    `heders: { Authorization: Bearer ${secret} }`,
    `Authorization: Bearer ${secret}`,
    `api_key: ${secret}`,
    `? token ${secret}\n    : x`,
    `headers: { X-Api-Key:" "${secret}": a }`,
    `body: { password ${secret} }`,
    `token: ${secret}`,
    `password: ${secret}`,
    `bearer: ${secret}`,
    `url: https://a b.com/?api_key=${secret}`,
    `url: ftp://a.com/?api_key=${secret}`,
    `url: /x?access_token=${secret}`,
    `url: https://user:${secret}@a b.com`,
    `url: https://${secret}@a.com`,
    `url: [https://a.com/?api_key=${secret}]`,
    `url: "https://a.com/?api_key=${secret}`,
    `body: Bearer ${secret}`,
    `body: '{"password": ${secret}}'`,
    `body: '{"password": "${secret}'`,
    `body: { password: [${secret}], x: .nan }`,
    `rate: fast # password: ${secret}`,
    `rate: Bearer ${secret}`,
    `timeout: Bearer ${secret}`,
    `body:\n      pem: |\n        -----BEGIN PRIVATE KEY-----\n        ${secret}\n     x: y`,
    `body: "-----BEGIN EC PRIVATE KEY-----\\n${secret}`,
    `auht: { typ: bearer, credental: ${secret}`,
    `header:\n      X-Key: ${secret}\n      a: [`,
    `credential: ${secret}`,
    `url: ws://user:${secret}@a.com`,
  ])('is never printed: %s', (line) => {
    const yaml = `nodes:\n  - type: http\n    method: FETCH\n    ${line}\n    timeot: 1\n`;
    const all = said(yaml);
    expect(all).toContain('"line":');
    expect(all).not.toContain('s3cr3t');
  });
});

test('a problem on the second line of a two-line secret is reported without its source line', () => {
  const body = `body: { password: "s3cr3t\n      ${secret}" }`;
  const problems = flowProblems(`nodes:\n  - { type: http, method: POST, url: "https://a.com", ${body}, timeot: 1 }\n`);
  expect(problems.map(({ line, source }) => [line, source])).toEqual([
    [2, undefined],
    [3, undefined],
  ]);
});

test('a secret that begins with another secret is not printed', () => {
  const body = `body: { password: ${secret}, secret: ${secret}-and-more-x7 }`;
  const all = said(`nodes:\n  - { type: ${secret}-and-more-x7, method: POST, url: "https://a.com", ${body} }\n`);
  expect(all).toContain('***');
  expect(all).not.toMatch(/and-more/);
});

describe('the message for a flow that is not valid YAML', () => {
  const broken = (line: string) => `nodes:\n  - type: http\n    url: https://a.com\n    ${line}\n    map: { a: b\n`;
  const lines = (line: string) => flowProblems(broken(line)).map(({ line: number, source }) => [number, source?.text]);

  test('shows the line of the problem if no line above it has a name that suggests a secret', () => {
    expect(lines('timeout: 1s')).toEqual([[5, '    map: { a: b']]);
  });

  test.each(['auth: x', 'headers: {}', 'token: x', '"api_key" : x', 'proxy: http://user@proxy', 'rate: &a 1/s'])(
    'shows only the position, without the line, if a line above has a name that suggests a secret: %s',
    (line) => {
      expect(lines(line).at(-1)).toEqual([5, undefined]);
    },
  );
});

describe('a secret in a flow with random mistakes', () => {
  const flow = `name: x
connections:
  crm:
    type: http
    base_url: https://crm.example.com
    auth: { type: bearer, credential: "${secret}" }
    headers: { X-Api-Key: "${secret}", Accept: a }
  two:
    type: http
    base_url: https://two.example.com
    auth:
      type: api_key
      header: X-Key
      credential: ${secret}
    headers:
      Authorization: Bearer ${secret}
nodes:
  - type: http
    connection: crm
    method: POST
    url: "https://a.com/x?api_key=${secret}"
    body: { a: 1, password: ${secret} }
    map: { x: a.b }
  - { type: http, url: "https://b.com", auth: { type: basic, username: u, credential: ${secret} }, map: [a] }
`;
  const breaking = [
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    ':',
    ': ',
    ',',
    '\n',
    ' ',
    '\t',
    ' #',
    '&a ',
    '*a ',
    '!x ',
    '|',
    '>',
    '@',
    '%',
    '- ',
    '? ',
    '\\',
    '---\n',
  ];
  const change = fc.record({
    at: fc.nat({ max: flow.length }),
    put: fc.option(fc.constantFrom(...breaking)),
  });

  /** Inserts `put`, or removes one character. Never changes a word, because a changed secret would not be found in the output. */
  function changed(yaml: string, { at, put }: { at: number; put: string | null }): string {
    const isInWord = /[\w-]/.test(yaml.charAt(at - 1)) && /[\w-]/.test(yaml.charAt(at));
    if (isInWord || (put === null && /[\w-]/.test(yaml.charAt(at)))) return yaml;
    return yaml.slice(0, at) + (put ?? '') + yaml.slice(at + (put === null ? 1 : 0));
  }

  test('is never printed', () => {
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        expect(said(changes.reduce(changed, flow))).not.toContain('s3cr3t');
      }),
      { numRuns: 120, seed: 1 },
    );
  });
});

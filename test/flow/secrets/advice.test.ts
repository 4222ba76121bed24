import { describe, expect, test } from 'vitest';
import { AutomateError } from '../../../src/core/failure.ts';
import { compileSavedConnection } from '../../../src/flow/connections.ts';
import { flowProblems } from '../../helpers/flow-problems.ts';
import { connection, ofNode, secret } from './canary.ts';

describe('the advice for a literal secret', () => {
  const key = 'store it: automate credentials set github-token';
  const whole = "store the header's whole value: automate credentials set github-token";
  const pair = 'store it as username:password: automate credentials set github-login';
  const decoded = (keep: string) => keep.replace(': automate', ', percent-decoded: automate');
  const instead = 'remove the header, and write next to headers: auth:';
  const inUrl = 'remove it from the URL, and write next to the URL: auth:';
  const inBody = (credential: string) =>
    `store it: automate credentials set ${credential}\nand put in its place: { credential: ${credential} }`;
  const token = `send it with auth, ${key}\nand write: auth: { type: bearer, credential: github-token }`;

  test.each([
    [`headers: { Authorization: Bearer ${secret} }`, `${key}\n${instead} { type: bearer, credential: github-token }`],
    [`headers: { Authorization: "Bearer ${secret}{{x}}" }`, `${key}\n${instead} { type: bearer, credential: github-token }`],
    [`headers: { Authorization: ${secret} }`, `${key}\n${instead} { type: api_key, header: Authorization, credential: github-token }`],
    [
      `headers: { Authorization: Token ${secret} }`,
      `${whole}\n${instead} { type: api_key, header: Authorization, credential: github-token }`,
    ],
    ['headers: { authorization: Basic YTpjYW5hcnk= }', `${pair}\n${instead} { type: basic, credential: github-login }`],
    [`headers: { X-API-Key: ${secret} }`, `${key}\n${instead} { type: api_key, header: X-API-Key, credential: github-token }`],
    [`headers: { X-Who: Bearer ${secret} }`, `${whole}\n${instead} { type: api_key, header: X-Who, credential: github-token }`],
    [`headers: { Cookie: "lang=en; sid=${secret}" }`, `${whole}\n${instead} { type: api_key, header: Cookie, credential: github-token }`],
    [`url: https://api.github.com/?api_key=${secret}`, `${key}\n${inUrl} { type: api_key, query: api_key, credential: github-token }`],
    [`url: https://github.com/?a=Bearer%20${secret}`, `${decoded(key)}\n${inUrl} { type: api_key, query: a, credential: github-token }`],
    [`url: https://ann:${secret}@github.com/x`, `${pair}\n${inUrl} { type: basic, credential: github-login }`],
    [`url: https://ann:%40${secret}@github.com/x`, `${decoded(pair)}\n${inUrl} { type: basic, credential: github-login }`],
    ['url: https://ghp_16C7e42F292c6912@github.com/x', `${pair}\n${inUrl} { type: basic, credential: github-login }`],
    [
      'url: https://github.com/ghp_16C7e42F292c6912/x',
      `a URL's path cannot carry a credential: send it with auth where the API allows, or take it from a field such as "{{token}}"\nto ${token}`,
    ],
    [`body: { password: ${secret} }`, inBody('github-password')],
    [`body: { client-secret: ${secret} }`, inBody('github-secret')],
    [`body: '{"api_key": "${secret}"}'`, `${key}\nand write the body as a mapping, with this in its place: { credential: github-token }`],
    [`body: { headers: { Authorization: "Bearer ${secret}" } }`, inBody('github-token')],
    ['body: { note: "see ghp_16C7e42F292c6912" }', inBody('github-token').replace('it:', 'the whole value:')],
    ['body: [ghp_16C7e42F292c6912]', inBody('github-token')],
  ])("depends on the secret's position in the flow: %s", (line, advice) => {
    const [message, ...more] = ofNode(line);
    expect(message?.split('\n').slice(1).join('\n')).toBe(advice);
    expect(more.filter((other) => !other.startsWith('a URL must not contain a user name'))).toEqual([]);
  });

  test('is YAML that compiles', () => {
    const [message] = ofNode(`headers: { X-API-Key: ${secret} }`);
    expect(ofNode(/auth: .*/.exec(message ?? '')?.[0] ?? '')).toEqual([]);
  });

  test.each(['{ type: bearer, credential: x }', '[{ type: bearer, credential: x }]'])(
    'takes into account that the node already has auth: %s',
    (written) => {
      const auth = `    auth: ${written}\n`;
      expect(ofNode(`headers: { X-API-Key: ${secret} }`, auth)).toEqual([
        `the header "X-API-Key" contains a literal secret\n${key}\nand add it to auth, which can be a list: { type: api_key, header: X-API-Key, credential: github-token }`,
      ]);
      const twice = 'contains a literal secret\nauth signs the request already\nleave this one out';
      expect(ofNode(`url: https://ann:${secret}@github.com/x`, auth)).toContain(`the user name and password in the URL ${twice}`);
      expect(ofNode(`headers: { Authorization: ${secret} }`, auth)).toContain(`the header "Authorization" ${twice}`);
      expect(ofNode(`body: { pin: 1, key: Bearer ${secret} }`, auth)).toEqual([expect.stringContaining(inBody('github-token'))]);
    },
  );

  test('for a secret in a body is also YAML that compiles', () => {
    expect(ofNode('body: { password: { credential: github-password } }')).toEqual([]);
  });

  test('for a secret in a set node is to use a field instead', () => {
    const [problem] = flowProblems('nodes: [{ type: set, fields: { key: ghp_16C7e42F292c6912 } }]');
    expect(problem?.message).toMatch(
      /^the value of "key" contains a literal secret\nthis place cannot carry .*"\{\{key\}\}"\n.* my-token\n/,
    );
  });
});

describe('the name of the suggested credential', () => {
  const named = (yaml: string) => flowProblems(yaml).flatMap(({ message }) => /credentials set (\S+)/.exec(message)?.[1] ?? []);
  const asking = (url: string, more = '') => `nodes: [{ type: http, url: "${url}", ${more} headers: { X-API-Key: ${secret} } }]`;

  test.each([
    ['the connection that contains the secret', connection(`    headers: { X-API-Key: ${secret} }`), 'crm-token'],
    ['the connection rather than its host', `connections: { a: { base_url: "https://u:${secret}@b.com" } }\nnodes: []`, 'a-login'],
    ['the host', asking('https://api.github.com/x'), 'github-token'],
    ['the host, ignoring case and port', asking('https://WWW.GitHub.com:8443'), 'github-token'],
    ['the host before a public suffix of two labels', asking('https://api.acme.co.uk/x'), 'acme-token'],
    ['the host even if the host is itself a public suffix', asking('https://com.de/x'), 'com-token'],
    ['a host with only one label', asking('https://intranet/x'), 'intranet-token'],
    ['the literal part of the host', asking('https://{{tenant}}.zendesk.com/x'), 'zendesk-token'],
    ["the node's connection", asking('/x', 'connection: crm, id: look-up,'), 'crm-token'],
    ["the node's id if the host comes from a record", asking('https://{{host}}/x', 'id: look-up,'), 'look-up-token'],
    ["the node's id if the host is an IP address", asking('https://10.0.0.7/x', 'id: look-up,'), 'look-up-token'],
    ["the node's id if the host is this machine", asking('http://localhost:8080/x', 'id: look-up,'), 'look-up-token'],
    ["the node's id if the host contains non-ASCII characters", asking('https://münchen.de/x', 'id: look-up,'), 'look-up-token'],
    ['the word "my" if there is no connection, id or fixed host', asking('https://{{host}}/x'), 'my-token'],
  ])('is taken from %s', (_, yaml, name) => {
    expect(named(yaml)).toEqual([name]);
  });

  test.each([
    ['the host if the secret is the host', asking(`https://${secret}.com/x`)],
    ['the host if it contains the secret', asking(`https://my-${secret}-x.com/x`)],
    ['the host if it is a part of the secret', asking('https://s3cr3t.com/x')],
    ['the id if the secret is the id', asking('/x', `id: ${secret},`)],
    ['the host if it is a token', asking('https://sk-abcdefgh1.com/x')],
    ['the id if it is a token', asking('/x', 'id: ghp_16C7e42F292c6912,')],
    ['the host if it looks random', asking('https://9f86d081884c7d659a2feaa0c55ad015.com/x')],
    ["the connection's name if it looks random", asking('/x', 'connection: aB3dE5gH7jK9mN1pQ3sT5vW7,')],
  ])('is not taken from %s', (_, yaml) => {
    const literal = flowProblems(yaml).filter(({ message }) => message.includes('contains a literal secret'));
    expect(named(yaml)).toEqual(literal.map(() => expect.stringMatching(/^my-token(-2)?$/)));
    for (const { message } of literal) expect(message).not.toMatch(/s3cr3t|ghp_|sk-abc|9f86|aB3dE/i);
  });

  test('is different for each secret, but the same if a secret is repeated', () => {
    const node = (value: string) => `  - { type: http, url: "https://a.com/?api_key=${value}&page=${value.length}" }\n`;
    const other = `  - { type: http, url: https://a.com, headers: { Authorization: Bearer ${secret} } }\n`;
    expect(named(`nodes:\n${node(secret)}${node('an0ther0ne')}${node(secret)}${other}`)).toEqual([
      'a-token',
      'a-token-2',
      'a-token',
      'a-token',
    ]);
  });

  test('is also taken from the connection when a connection is saved', () => {
    const save = (written: object) => () => compileSavedConnection('crm', { type: 'http', ...written }, false);
    expect(save({ base_url: 'https://a.com', headers: { 'X-API-Key': secret } })).toThrow(
      new AutomateError(
        'usage',
        'the header "X-API-Key" contains a literal secret\nstore it: automate credentials set crm-token\nremove the header, and write next to headers: auth: { type: api_key, header: X-API-Key, credential: crm-token }',
      ),
    );
    expect(save({ base_url: `https://ann:${secret}@a.com` })).toThrow(
      /^the user name and password in the URL contains a literal secret\nstore it as username:password: automate credentials set crm-login\nremove it from the URL, and write next to the URL: auth: \{ type: basic, credential: crm-login \}\n/,
    );
  });

  test("a problem under auth in a saved connection is reported with the option's name, but not its value", () => {
    const auth = { type: 'bearer', credential: 'a b' };
    expect(() => compileSavedConnection('crm', { type: 'http', base_url: 'https://a.com', auth }, false)).toThrow(
      new AutomateError('usage', 'expected a name of letters, digits, dots, dashes and underscores (credential)'),
    );
  });

  test('a secret that equals a word in a message does not cause that word to be masked', () => {
    expect(ofNode('headers: { X-API-Key: credentials, Secret: secret }')).toEqual([
      'the header "X-API-Key" contains a literal secret\nstore it: automate credentials set github-token\nremove the header, and write next to headers: auth: { type: api_key, header: X-API-Key, credential: github-token }',
      'the header "Secret" contains a literal secret\nstore it: automate credentials set github-token-2\nremove the header, and write next to headers: auth: { type: api_key, header: Secret, credential: github-token-2 }',
    ]);
  });
});

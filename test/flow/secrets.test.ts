import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';

const secret = 's3cr3t-Canary';

/** Everything that is ever said of a flow. */
function said(yaml: string): string {
  const problems = flowProblems(yaml, { header: [] });
  const warnings = problems.length > 0 ? [] : planFor(yaml).warnings;
  return JSON.stringify([problems, warnings]);
}

const connection = (lines: string) => `connections:
  crm:
    type: http
    base_url: https://crm.example.com
${lines}
nodes:
  - { type: http, connection: crm, url: /x, map: { a: "" } }
`;

describe('a value under auth is never printed', () => {
  test.each([
    `    auth: ${secret}`,
    `    auth: "${secret}`,
    `    auth: '${secret}`,
    `    auth: "${secret}" x`,
    `    auth: "\\${secret}"`,
    `    auth: @${secret}`,
    `    auth: *${secret}`,
    `    auth: &${secret} x`,
    `    auth: !${secret} x`,
    `    auth: !x ${secret}`,
    `    auth: # ${secret}`,
    `    auth: x # ${secret}`,
    `    auth: |\n      ${secret}\n     x`,
    `    auth: |2x\n      ${secret}`,
    `    auth: >-\n      ${secret}`,
    `    auth: ${secret}\n      more: x`,
    `    auth:\n      ${secret}`,
    `    auth:\n      ${secret}: x`,
    `    auth:\n    ${secret}`,
    `    auth:\n\t${secret}`,
    `    auth:\n      - ${secret}\n      - x: ${secret}\n        ${secret}`,
    `    auth: [${secret}]`,
    `    auth: [${secret}`,
    `    auth: {${secret}}`,
    `    auth: {${secret}: x}`,
    `    auth: {${secret}`,
    `    auth: { type: ${secret} }`,
    `    auth: { type: bearer, credential: "${secret} !" }`,
    `    auth: { type: bearer, credential: [${secret}] }`,
    `    auth: { type: bearer, credential: { value: ${secret} } }`,
    `    auth: { type: bearer, credential: ${secret}, credential: ${secret} }`,
    `    auth: { type: bearer, token: ${secret} }`,
    `    auth: { type: bearer, credential: x, ${secret}: x }`,
    `    auth: { type: bearer, credential: ${secret}`,
    `    auth: { type: bearer, credential: "${secret} }`,
    `    auth: { type: bearer credential: ${secret} }`,
    `    auth: { type: bearer, credential: ${secret} } }`,
    `    auth: type: bearer: ${secret}`,
    `    auth:\n      type: bearer\n     credential: ${secret}`,
    `    auth:\n      type: bearer\n      credential: @${secret}`,
    `    auth:\n      type: bearer\n      credential: a: ${secret}`,
    `    auth:\n    type: bearer\n    credential: ${secret}`,
    `    auth: { type: api_key, header: "${secret} x", credential: x }`,
    `    auth: { type: basic, username: [${secret}], credential: x }`,
    `    auth: { type: oauth2_client_credentials, token_url: ${secret}, client_id: x, credential: x }`,
    `    auth: { type: oauth2_client_credentials, token_url: "http://${secret}.example.com", client_id: x, credential: x }`,
    `    Auth: ${secret}`,
    `    auht: ${secret}`,
    `    authentication: { type: bearer, x: ${secret} }`,
    `    "auth": { type: ${secret}`,
    `    'auth' : "${secret}`,
    `    ? auth\n    : ${secret}\n    x: y: z`,
    `    auth\n     : ${secret}`,
  ])('%s', (lines) => {
    const all = said(connection(lines));
    expect(all).toContain('"line":');
    expect(all).not.toContain('s3cr3t');
  });

  test('nor in a node, nor on one line with everything else', () => {
    for (const auth of [secret, `{ type: ${secret} }`, `{ type: bearer, credential: "${secret} x" }`, `[${secret}`, `"${secret}`]) {
      expect(said(`nodes: [{ type: http, url: /x, auth: ${auth}, timeout: soon }]`)).not.toContain('s3cr3t');
      expect(said(`nodes:\n  - type: http\n    auth: ${auth}\n    url: /x\n    timeot: 5\n`)).not.toContain('s3cr3t');
    }
  });

  test('nor where an alias brings it from', () => {
    expect(said(`x: &s ${secret}\n${connection('    auth: { type: bearer, credential: *s }')}`)).not.toContain('s3cr3t');
  });

  test('known words stay, so that the place can be recognised', () => {
    const [problem] = flowProblems(connection('    auth: { type: bearer, token: abc }'));
    expect(problem?.source?.text).toBe('    auth: { type: ***   , token: *** }');
  });

  test('what looks like the secret itself is no name of a credential', () => {
    for (const name of [
      'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
      'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
      '9f86d081884c7d659a2feaa0c55ad015',
    ]) {
      const problems = flowProblems(connection(`    auth: { type: bearer, credential: ${name} }\n    rate: 1/s`));
      expect(problems.map(onOneLine)[0]).toBe('5:39 expected the name of a credential, found what looks like the secret itself');
      expect(JSON.stringify(problems)).not.toContain(name);
    }
    for (const name of ['crm-token', 'stripe_live', 'CRM.production.eu-west-1', 'my-very-long-name-of-a-credential-2']) {
      expect(JSON.stringify(flowProblems(connection(`    auth: { type: bearer, credential: ${name} }`)))).not.toContain(
        'looks like the secret',
      );
    }
  });
});

describe('a literal secret is an error that says how to store it', () => {
  test.each([
    [`headers: { Authorization: Bearer ${secret} }`, '4:31 the header "Authorization"'],
    [`headers: { authorization: ${secret} }`, '4:31 the header "authorization"'],
    [`headers: { X-API-Key: ${secret} }`, '4:27 the header "X-API-Key"'],
    ['headers: { X-API-Key: 4711081547110815 }', '4:27 the header "X-API-Key"'],
    [`headers:\n      X-Auth-Token: "${secret}"`, '5:21 the header "X-Auth-Token"'],
    [`headers: { X-Whatever: "Bearer ${secret}" }`, '4:28 the header "X-Whatever"'],
    ['headers: { X-My-Token: aB3dE5gH7jK9mN1pQ3sT5vW7 }', '4:28 the header "X-My-Token"'],
    [`headers: { Authorization: "Bearer ${secret}{{x}}" }`, '4:31 the header "Authorization"'],
    [`url: https://a.com/x?api_key=${secret}`, '4:10 the query parameter "api_key"'],
    [`url: "https://a.com/x?q={{q}}&access_token=${secret}"`, '4:10 the query parameter "access_token"'],
    [`url: https://user:${secret}@a.com/x`, '4:10 the user name and password in the URL'],
    [`body: { password: ${secret} }`, '4:23 "password" in the body'],
    [`body: { auth: { api_key: ${secret} } }`, '4:30 "api_key" in the body'],
    [`body: [{ client_secret: ${secret} }]`, '4:29 "client_secret" in the body'],
    [`body: '{"api_key": "${secret}"}'`, '4:11 the body\'s member "api_key"'],
    ['body: { note: sk_live_4eC39HqLyjWDarjtT1zdp7dc }', '4:19 the value of "note"'],
    ['body: [ghp_16C7e42F292c6912E7710c838347Ae178B4a]', '4:12 the value of "body"'],
    [`headers: { Cookie: session=${secret} }`, '4:24 the header "Cookie"'],
    [`headers: { Cookie: "lang=en; sid=${secret}" }`, '4:24 the header "Cookie"'],
    ['headers: { X-Whatever: Bearer s3cr3tcanary }', '4:28 the header "X-Whatever"'],
    ['headers: { X-Whatever: Bearer canarycanary }', '4:28 the header "X-Whatever"'],
    ['headers: { X-Whatever: Basic YTpjYW5hcnk= }', '4:28 the header "X-Whatever"'],
    [`url: https://a.com/x?sig=${secret}`, '4:10 the query parameter "sig"'],
    [`url: "https://a.com/x?q={{q}}&signature=${secret}"`, '4:10 the query parameter "signature"'],
    [`url: https://a.com/x?pwd=${secret}`, '4:10 the query parameter "pwd"'],
    [`url: https://a.com/x?auth=${secret}`, '4:10 the query parameter "auth"'],
    [`url: https://a.com/x?a=Bearer%20${secret}`, '4:10 the value of "url"'],
    [`body: { sig: ${secret} }`, '4:18 "sig" in the body'],
    [`body: { signature: ${secret} }`, '4:24 "signature" in the body'],
    [`body: { pwd: ${secret} }`, '4:18 "pwd" in the body'],
    [`body: { auth: ${secret} }`, '4:19 "auth" in the body'],
    [`body: { note: Bearer ${secret} }`, '4:19 the value of "note"'],
    ['body: { note: Basic YTpjYW5hcnk= }', '4:19 the value of "note"'],
    [`body: '{"sig": "${secret}"}'`, '4:11 the body\'s member "sig"'],
    [`body: '{"note": "Bearer ${secret}"}'`, '4:11 the value of "body"'],
  ])('%s', (line, problem) => {
    const yaml = `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`;
    const problems = flowProblems(yaml);
    expect(problems.map(onOneLine)).toContain(`${problem} holds a literal secret`);
    expect(problems[0]?.message).toMatch(/\n.*AUTOMATE_CREDENTIAL_NAME.*auth: \{ type: bearer, credential: name \}/);
    expect(JSON.stringify(problems)).not.toMatch(/s3cr3t|47110815|aB3dE5gH|4eC39|16C7e|canary|YTpj/);
  });

  test.each([
    [`body: '{"api_key": "${secret}", "sig": "${secret}"}'`, ['the body\'s member "api_key"', 'the body\'s member "sig"']],
    [`url: "https://a.com/x?token=${secret}&sig=${secret}"`, ['the query parameter "token"', 'the query parameter "sig"']],
  ])('each of several is named: %s', (line, found) => {
    const problems = flowProblems(
      `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`,
    );
    expect(problems.map(onOneLine)).toEqual(found.map((what) => expect.stringContaining(`${what} holds a literal secret`)));
    expect(JSON.stringify(problems)).not.toContain('s3cr3t');
  });

  test('in a connection, too', () => {
    expect(flowProblems(connection(`    headers: { X-Api-Key: ${secret} }`)).map(onOneLine)).toContain(
      '5:27 the header "X-Api-Key" holds a literal secret',
    );
    expect(
      flowProblems(`connections: { a: { type: http, base_url: "https://u:${secret}@a.com" } }\nnodes: [{ type: set }]`).map(onOneLine),
    ).toContain('1:43 the user name and password in the URL holds a literal secret');
  });

  test.each([
    'headers: { Authorization: "Bearer {{token}}" }',
    'headers: { X-API-Key: "{{key}}" }',
    'headers: { Authorization: "GenieKey {{key}}" }',
    'headers: { Authorization: "Token token={{token}}" }',
    'headers: { X-API-Key: "test-{{key}}" }',
    'headers: { X-API-Key: "{{ key }}" }',
    'headers: { X-Plan: Basic membership }',
    'headers: { X-Atlassian-Token: no-check }',
    'headers: { Idempotency-Key: "order-{{id}}-aB3dE5gH7jK9mN1pQ3sT5vW7" }',
    'headers: { X-Request-Id: aB3dE5gH7jK9mN1pQ3sT5vW7 }',
    'headers: { Cookie: consent=yes }',
    'headers: { Cookie: "theme=solarized; lang=en-GB" }',
    'headers: { Cookie: "session={{session}}" }',
    'url: "https://a.com/x?sig=1&auth=none&signature={{signature}}&pwd={{pwd}}"',
    'body: { auth: none, sig: 1, signature: "Best regards, Ann" }',
    'body: { auth: oauth2_client_credentials, pwd: "{{pwd}}" }',
    'body: { note: "Bearer {{token}}", plan: Basic membership, text: Bearer documents are attached }',
    'body: \'{"auth": "none", "sig": "{{sig}}", "plan": "Basic membership"}\'',
    'url: "https://a.com/x?api_key={{key}}&token="',
    'url: https://a.com/tokens/secret',
    'body: { password: "{{password}}", token_count: 5, secret: true }',
    'body: \'{"api_key": "{{key}}", "tokens": 5}\'',
  ])('%s is none', (line) => {
    const yaml = `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`;
    expect(flowProblems(yaml)).toEqual([]);
  });
});

describe('a literal secret is never printed, however broken the flow', () => {
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
  ])('%s', (line) => {
    const yaml = `nodes:\n  - type: http\n    method: FETCH\n    ${line}\n    timeot: 1\n`;
    const all = said(yaml);
    expect(all).toContain('"line":');
    expect(all).not.toContain('s3cr3t');
  });
});

describe('nor when anything at all is broken', () => {
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

  /** Puts something in, or takes one character out that is no part of a word: a word that was changed tells no secret any more. */
  function changed(yaml: string, { at, put }: { at: number; put: string | null }): string {
    const isInWord = /[\w-]/.test(yaml.charAt(at - 1)) && /[\w-]/.test(yaml.charAt(at));
    if (isInWord || (put === null && /[\w-]/.test(yaml.charAt(at)))) return yaml;
    return yaml.slice(0, at) + (put ?? '') + yaml.slice(at + (put === null ? 1 : 0));
  }

  test('by up to three changes anywhere', () => {
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        expect(said(changes.reduce(changed, flow))).not.toContain('s3cr3t');
      }),
      { numRuns: 1000, seed: 1 },
    );
  });
});

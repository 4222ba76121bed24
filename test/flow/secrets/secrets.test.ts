import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { secretShapes } from '../../../src/core/text/secret-shapes.ts';
import { compileSavedConnection } from '../../../src/flow/saved-connection.ts';
import { flowProblems, onOneLine, planFor } from '../../helpers/flow-problems.ts';

const secret = 's3cr3t-Canary';

/** Everything that is ever said of a flow. */
function said(yaml: string): string {
  const problems = flowProblems(yaml, { header: [] });
  const warnings = problems.length > 0 ? [] : planFor(yaml).warnings();
  return JSON.stringify([problems, warnings]);
}

/** What only generators make. */
const random = {
  hex: '9f86d081884c7d659a2feaa0c55ad015',
  mixed: 'aB3dE5gH7jK9mN1pQ3sT5vW7',
  uuid: '550e8400-e29b-41d4-a716-446655440000',
};

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
    for (const name of ['crm-file', 'crm_FILE', 'crm.File']) {
      expect(flowProblems(connection(`    auth: { type: bearer, credential: ${name} }`)).map(onOneLine)[0]).toBe(
        '5:39 expected a name that does not end in "file": its variable would name the file of another credential',
      );
    }
    for (const name of [
      'profile',
      'file',
      'crm-file-2',
      'crm-token',
      'stripe_live',
      'CRM.production.eu-west-1',
      'my-very-long-name-of-a-credential-2',
    ]) {
      expect(JSON.stringify(flowProblems(connection(`    auth: { type: bearer, credential: ${name} }`)))).not.toMatch(
        /expected (?:the|a) name/,
      );
    }
  });
});

describe('a literal secret is an error that says how to store it', () => {
  test.each([
    [`headers: { Authorization: Bearer ${secret} }`, '4:31 the header "Authorization"'],
    [`headers: { Authorization: "Bearer \${TOKEN}" }`, '4:31 the header "Authorization"'],
    ['headers: { Authorization: Bearer token }', '4:31 the header "Authorization"'],
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
    [`url: https://a.com/x?key=${random.hex}`, '4:10 the query parameter "key"'],
    [`url: "https://a.com/x?q={{q}}&key=${random.mixed}"`, '4:10 the query parameter "key"'],
    [`url: https://a.com/x?appid=${random.hex}`, '4:10 the query parameter "appid"'],
    [`url: https://a.com/x?a=1;api_key=${secret}`, '4:10 the query parameter "api_key"'],
    [`url: https://a.com/x?API%5FKEY=${secret}`, '4:10 the query parameter "API_KEY"'],
    [`url: https://a.com/x#api_key=${secret}`, '4:10 the query parameter "api_key"'],
    [`url: https://a.com/x?pass=${secret}`, '4:10 the query parameter "pass"'],
    [`url: https://hooks.slack.com/services/T01ABCDEF/B01ABCDEF/${random.mixed}`, '4:10 the value of "url"'],
    [`url: https://discord.com/api/webhooks/123456789012345678/${random.mixed.repeat(3)}`, '4:10 the value of "url"'],
    [`url: https://discord.com/api/v10/webhooks/123456789012345678/${random.mixed.repeat(3)}`, '4:10 the value of "url"'],
    [`headers: { X-Hasura-Admin-Secret: ${secret} }`, '4:39 the header "X-Hasura-Admin-Secret"'],
    ['headers: { x_secret_phrase: canary }', '4:33 the header "x_secret_phrase"'],
    [`headers: { X-Custom: ${random.hex} }`, '4:26 the header "X-Custom"'],
    [`headers: { X-Custom: ${random.mixed} }`, '4:26 the header "X-Custom"'],
    [`body: { pass: ${secret} }`, '4:19 "pass" in the body'],
    [`body: { aws_secret_access_key: ${secret} }`, '4:36 "aws_secret_access_key" in the body'],
    ['body: { auth: { token: "9qXhT2kLm8VbN4rP" } }', '4:28 "token" in the body'],
    [`body: { token: ${random.hex} }`, '4:20 "token" in the body'],
    [`body: '{"token": "${random.mixed}"}'`, '4:11 the body\'s member "token"'],
    ['body: { note: "-----BEGIN RSA PRIVATE KEY-----\\ncanary\\n-----END RSA PRIVATE KEY-----" }', '4:19 the value of "note"'],
    ['body:\n      pem: |\n        -----BEGIN PRIVATE KEY-----\n        canary', '5:12 the value of "pem"'],
    [`body: { database: "postgres://ann:${secret}@db.example.com/x" }`, '4:23 the value of "database"'],
    [`body: { cache: "rediss://:${secret}@{{host}}:6379" }`, '4:20 the value of "cache"'],
    [`body: { database: "Server=db.example.com;User Id=ann;Password=${secret};" }`, '4:23 the value of "database"'],
    [`body: { storage: "AccountName=ann;AccountKey=${secret}==" }`, '4:22 the value of "storage"'],
  ])('%s', (line, problem) => {
    const yaml = `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`;
    const problems = flowProblems(yaml);
    expect(problems.map(onOneLine)).toContain(`${problem} holds a literal secret`);
    expect(problems[0]?.message).toMatch(/\n.*: automate credentials set (\S+)\n.*: auth: \{ type: .*credential: \1 \}$/);
    expect(JSON.stringify(problems)).not.toMatch(/s3cr3t|47110815|aB3dE5gH|4eC39|16C7e|canary|YTpj|9f86d|9qXhT/);
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

  test.each([
    ['a: ghp_16C7e42F292c6912', 'a'],
    ['a: AKIAQZ7KV2ND5XW3QZ7K', 'a'],
    [`a: Bearer ${secret}`, 'a'],
    [`auth: Bearer ${secret}`, 'auth'],
    ['a: Basic YTpjYW5hcnk=', 'a'],
    ['a: "-----BEGIN PRIVATE KEY-----\\ncanary"', 'a'],
    [`a: "postgres://ann:${secret}@db.example.com/x"`, 'a'],
    [`api_key: ${random.hex}`, 'api_key'],
    [`apiKey: ${random.mixed}`, 'apiKey'],
    ['token: 9qXhT2kLm8VbN4rP', 'token'],
  ])('in a field that is set: %s', (field, name) => {
    const problems = flowProblems(`nodes: [{ type: set, fields: { ${field} } }]`);
    expect(problems.map(onOneLine)).toEqual([expect.stringContaining(`the value of "${name}" holds a literal secret`)]);
    expect(JSON.stringify(problems)).not.toMatch(/s3cr3t|16C7e|AKIA|canary|YTpj|9f86d|aB3dE5gH|9qXhT/);
  });

  test.each([
    'api_key: "{{key}}", token: CAUQAA12, secret: none, password: Password, pass: true',
    'auth: "Bearer {{token}}", url: "https://{{user}}:{{password}}@a.com", api_key: name-of-2024-10-28',
    `id: ${random.uuid}, hash: ${random.hex}, etag: ${random.mixed}, pem: "-----BEGIN CERTIFICATE-----"`,
  ])('in a field that is set, %s is none', (fields) => {
    expect(flowProblems(`nodes: [{ type: set, fields: { ${fields} } }]`)).toEqual([]);
  });

  describe('under auth, beside the name of a credential', () => {
    const token = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc';
    const oauth = (more: object) => ({
      type: 'oauth2_client_credentials',
      token_url: 'https://a.com/token',
      client_id: 'x',
      credential: 'c',
      ...more,
    });
    test.each([
      ['the query parameter "client_secret"', oauth({ token_url: `https://a.com/token?client_secret=${secret}` })],
      ['the query parameter "key"', oauth({ token_url: `https://a.com/token?key=${random.hex}` })],
      ['the user name and password in the URL', oauth({ token_url: `https://ann:${secret}@a.com/token` })],
      ['the value of "token_url"', oauth({ token_url: `https://a.com/${token}` })],
      ['the value of "client_id"', oauth({ client_id: token })],
      ['the value of "username"', { type: 'basic', username: token, credential: 'c' }],
    ])('%s: %o', (found, auth) => {
      const said = `${found} holds a literal secret`;
      const problems = flowProblems(connection(`    auth: ${JSON.stringify(auth)}`));
      expect(problems.map(({ message }) => message)).toContainEqual(expect.stringContaining(said));
      expect(JSON.stringify(problems)).not.toMatch(/s3cr3t|4eC39|9f86d/);
      const inNode = flowProblems(`nodes: [{ type: http, url: "https://a.com", auth: ${JSON.stringify(auth)} }]`);
      expect(inNode.map(({ message }) => message)).toContainEqual(expect.stringContaining(said));
      const save = () => compileSavedConnection('crm', { type: 'http', base_url: 'https://a.com', auth }, false);
      expect(save).toThrow(said);
      expect(save).not.toThrow(/s3cr3t|4eC39|9f86d/);
    });

    test.each([
      oauth({ token_url: 'https://a.com/oauth/token?audience=api&key=main', client_id: random.hex }),
      oauth({ client_id: random.uuid }),
      { type: 'basic', username: 'ann@example.com', credential: 'c' },
    ])('%o is none', (auth) => {
      expect(flowProblems(`nodes: [{ type: http, url: "https://a.com", auth: ${JSON.stringify(auth)} }]`)).toEqual([]);
    });
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
    'body: { token: eyJvZmZzZXQiOjUwfQ, next_page_token: CAUQAA, page_token: "2", cursor: dXNlcjpVMDYxTkZUVDI= }',
    'body: { idempotency_key: 9f86d081884c7d659a2feaa0c55ad015, key: s3cr3t-Canary, public_key: s3cr3t-Canary, version: 2024-10-28 }',
    'body: { author: ann, authorized: yes, token_type: bearer, password_hint: my dog, secrets: 3, api_keys: 2, design: v2.1 }',
    'body: { region: ASIA-PACIFIC-SOUTHEAST, zone: ASIAPACIFICHEADQUARTERS, path: pat-a-cake, hf_customer_id: hf_customer_of_the_month }',
    'body: { script: npm_package_config_registry, bot: "bot12345", note: "SG. or sk- or AKIA", list: "xapp-list, glrt-detector, sbp_mean" }',
    'url: "https://a.com/x?key=s3cr3t-Canary&page_token=CAUQAA12&cursor=dXNlcjpVMDYx&sort_key=name12&version=2024-10-28"',
    'url: "https://a.com/x?pageToken=CAUQAA12&token_type=bearer&author=ann&idempotency_key=9f86d081884c7d659a2feaa0c55ad015"',
    'url: "https://a.com/x?private_token={{token}}&auth=none&X-Auth=none"',
    'headers: { Auth: none, X-Auth: none, Sec-WebSocket-Key: abc, X-Page-Token: CAUQAA12, Accept-Version: 2024-10-28 }',
    'headers: { X-Idempotency-Key: aB3dE5gH7jK9mN1pQ3sT5vW7, Signature: s3cr3t-Canary, token: "{{token}}" }',
    `headers: { X-App-Id: ${random.hex}, X-Content-Hash: ${random.hex}, If-None-Match: ${random.mixed}, X-Trace: ${random.hex} }`,
    `headers: { X-Commit: ${random.hex}, X-B3-TraceId: ${random.hex}, X-Amz-Content-Sha256: ${random.hex}, Api-Version: ${random.hex} }`,
    'headers: { X-Campaign: Plan-Pro-2024-Q4-Edition-B2, User-Agent: Acme-Crawler/1.2.3-beta4, Accept: application/vnd.Acme.v2.1.3+json }',
    `headers: { X-Account: ${random.uuid}, X-Date: 20241028T120000Z, X-Secret-Version: 3, X-Secretary: Ann }`,
    `url: "https://a.com/${random.hex}/x?key=name&appid=weather&id=${random.uuid}&app_id=${random.hex}&hash=${random.hex}"`,
    'url: "https://a.com/x?key=user1Profile2Setting3&key=eyJvZmZzZXQiOjUwLCJpZCI6MTIzLCJhIjoxMn0&pass=season&a=1;b=2#key=top"',
    `url: "https://a.com/x?key=${random.uuid}&pass=2024-10-28&API%5FKEY={{key}}&a=%zz#api_key={{key}}"`,
    'url: https://hooks.slack.com/services/{{team}}/{{bot}}/{{token}}',
    'url: https://discord.com/api/webhooks/123456789012345678/{{token}}',
    'body: { pass: true, label: Password, kind: Secret, bus: "pass", valid: "Password=; is required" }',
    'body: { pass: "2024-10-28", text: "Password=hunter is weak", url: "https://a.com:8080/@ann", mail: "ann:x@a.com" }',
    'body: { db: "postgres://{{user}}:{{password}}@db/x", ado: "Server=db;Password={{password}};", pem: "-----BEGIN PUBLIC KEY-----" }',
    'body: { pem: "-----BEGIN PRIVATE KEY-----\\n{{pem}}\\n-----END PRIVATE KEY-----", auth: { token: "{{token}}" } }',
    `body: { token: ${random.uuid}, id: ${random.hex}, sha256: ${random.hex}, cursor: ${random.mixed} }`,
    'body: { token: eyJvZmZzZXQiOjUwLCJpZCI6MTIzLCJhIjoxMn0, next: { token: user1Profile2Setting3 } }',
  ])('%s is none', (line) => {
    const yaml = `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`;
    expect(flowProblems(yaml)).toEqual([]);
  });
});

/** The problems of a node that asks GitHub, but for the lines given. */
function ofNode(line: string, more = ''): string[] {
  const url = line.startsWith('url') ? '' : '    url: https://api.github.com/x\n';
  return flowProblems(`nodes:\n  - type: http\n    method: POST\n    ${line}\n${url}${more}`).map(({ message }) => message);
}

describe('what to do instead depends on where the secret stands', () => {
  const key = 'store it: automate credentials set github-token';
  const whole = "store the header's whole value: automate credentials set github-token";
  const pair = 'store it as username:password: automate credentials set github-login';
  const decoded = (keep: string) => keep.replace(': automate', ', percent-decoded: automate');
  const instead = 'and put in its place: auth:';
  const inBody = 'a body cannot carry a credential: send it with auth where the API allows, or take it from a field such as';
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
    [`url: https://api.github.com/?api_key=${secret}`, `${key}\n${instead} { type: api_key, query: api_key, credential: github-token }`],
    [`url: https://github.com/?a=Bearer%20${secret}`, `${decoded(key)}\n${instead} { type: api_key, query: a, credential: github-token }`],
    [`url: https://ann:${secret}@github.com/x`, `${pair}\n${instead} { type: basic, credential: github-login }`],
    [`url: https://ann:%40${secret}@github.com/x`, `${decoded(pair)}\n${instead} { type: basic, credential: github-login }`],
    ['url: https://ghp_16C7e42F292c6912@github.com/x', `${pair}\n${instead} { type: basic, credential: github-login }`],
    [
      'url: https://github.com/ghp_16C7e42F292c6912/x',
      `a URL's path cannot carry a credential: send it with auth where the API allows, or take it from a field such as "{{token}}"\nto ${token}`,
    ],
    [
      `body: { password: ${secret} }`,
      `${inBody} "{{password}}"\nto send it with auth, ${pair}\nand write: auth: { type: basic, credential: github-login }`,
    ],
    [
      `body: { client-secret: ${secret} }`,
      `${inBody} "{{client_secret}}"\nto send it with auth, store it: automate credentials set github-secret\nand write: auth: { type: oauth2_client_credentials, token_url: URL, client_id: ID, credential: github-secret }`,
    ],
    [`body: '{"api_key": "${secret}"}'`, `${inBody} "{{api_key}}"\nto ${token}`],
    [`body: { note: Bearer ${secret} }`, `${inBody} "{{note}}"\nto ${token}`],
    [`body: { headers: { Authorization: "Bearer ${secret}" } }`, `${inBody} "{{Authorization}}"\nto ${token}`],
    ['body: [ghp_16C7e42F292c6912]', `${inBody} "{{token}}"\nto ${token}`],
  ])('%s', (line, advice) => {
    const [message, ...more] = ofNode(line);
    expect(message?.split('\n').slice(1).join('\n')).toBe(advice);
    expect(more.filter((other) => !other.startsWith('a URL must not hold a user name'))).toEqual([]);
  });

  test('the YAML that is to be put in its place can be run', () => {
    const [message] = ofNode(`headers: { X-API-Key: ${secret} }`);
    expect(ofNode(/auth: .*/.exec(message ?? '')?.[0] ?? '')).toEqual([]);
  });

  test('a request that has a credential already cannot have another', () => {
    const auth = '    auth: { type: bearer, credential: x }\n';
    const carried = 'holds a literal secret\na request carries one credential, and auth names it\nleave this one out';
    expect(ofNode(`headers: { X-API-Key: ${secret} }`, auth)).toEqual([
      `the header "X-API-Key" ${carried}, or take it from a field such as "{{X_API_Key}}"`,
    ]);
    expect(ofNode(`url: https://ann:${secret}@github.com/x`, auth)).toContain(`the user name and password in the URL ${carried}`);
  });

  test('a node of another type says the same', () => {
    const [problem] = flowProblems('nodes: [{ type: set, fields: { key: ghp_16C7e42F292c6912 } }]');
    expect(problem?.message).toMatch(/^the value of "key" holds a literal secret\nthis place cannot carry .*"\{\{key\}\}"\n.* my-token\n/);
  });
});

describe('the credential is called after', () => {
  const named = (yaml: string) => flowProblems(yaml).flatMap(({ message }) => /credentials set (\S+)/.exec(message)?.[1] ?? []);
  const asking = (url: string, more = '') => `nodes: [{ type: http, url: "${url}", ${more} headers: { X-API-Key: ${secret} } }]`;

  test.each([
    ['the connection it stands in', connection(`    headers: { X-API-Key: ${secret} }`), 'crm-token'],
    ['the connection, and not its host', `connections: { a: { base_url: "https://u:${secret}@b.com" } }\nnodes: []`, 'a-login'],
    ['the host', asking('https://api.github.com/x'), 'github-token'],
    ['the host, whatever its case and port', asking('https://WWW.GitHub.com:8443'), 'github-token'],
    ['the host below a suffix of two labels', asking('https://api.acme.co.uk/x'), 'acme-token'],
    ['a host that is a suffix elsewhere', asking('https://com.de/x'), 'com-token'],
    ['a host of one label', asking('https://intranet/x'), 'intranet-token'],
    ['what is literal of the host', asking('https://{{tenant}}.zendesk.com/x'), 'zendesk-token'],
    ["the node's connection", asking('/x', 'connection: crm, id: look-up,'), 'crm-token'],
    ["the node's id, where a record decides the host", asking('https://{{host}}/x', 'id: look-up,'), 'look-up-token'],
    ["the node's id, where the host is an address", asking('https://10.0.0.7/x', 'id: look-up,'), 'look-up-token'],
    ["the node's id, where the host is this machine", asking('http://localhost:8080/x', 'id: look-up,'), 'look-up-token'],
    ["the node's id, where the host is no name", asking('https://münchen.de/x', 'id: look-up,'), 'look-up-token'],
    ['nothing, where there is nothing', asking('https://{{host}}/x'), 'my-token'],
  ])('%s', (_, yaml, name) => {
    expect(named(yaml)).toEqual([name]);
  });

  test.each([
    ['the secret as the host', asking(`https://${secret}.com/x`)],
    ['the secret within the host', asking(`https://my-${secret}-x.com/x`)],
    ['a piece of the secret as the host', asking('https://s3cr3t.com/x')],
    ['the secret as the id', asking('/x', `id: ${secret},`)],
    ['a token as the host', asking('https://sk-abcdefgh1.com/x')],
    ['a token as the id', asking('/x', 'id: ghp_16C7e42F292c6912,')],
    ['what is random as the host', asking('https://9f86d081884c7d659a2feaa0c55ad015.com/x')],
    ['what is random as the connection', asking('/x', 'connection: aB3dE5gH7jK9mN1pQ3sT5vW7,')],
  ])('never %s', (_, yaml) => {
    const literal = flowProblems(yaml).filter(({ message }) => message.includes('holds a literal secret'));
    expect(named(yaml)).toEqual(literal.map(() => expect.stringMatching(/^my-token(-2)?$/)));
    for (const { message } of literal) expect(message).not.toMatch(/s3cr3t|ghp_|sk-abc|9f86|aB3dE/i);
  });

  test('each secret has its own name, and the same one the same', () => {
    const node = (value: string) => `  - { type: http, url: "https://a.com/?api_key=${value}&page=${value.length}" }\n`;
    const other = `  - { type: http, url: https://a.com, headers: { Authorization: Bearer ${secret} } }\n`;
    expect(named(`nodes:\n${node(secret)}${node('an0ther0ne')}${node(secret)}${other}`)).toEqual([
      'a-token',
      'a-token-2',
      'a-token',
      'a-token',
    ]);
  });

  test('and says so when a connection is saved', () => {
    const save = (written: object) => () => compileSavedConnection('crm', { type: 'http', ...written }, false);
    expect(save({ base_url: 'https://a.com', headers: { 'X-API-Key': secret } })).toThrow(
      new Error(
        'the header "X-API-Key" holds a literal secret (X-API-Key: ***)\nstore it: automate credentials set crm-token\nand put in its place: auth: { type: api_key, header: X-API-Key, credential: crm-token }',
      ),
    );
    expect(save({ base_url: `https://ann:${secret}@a.com` })).toThrow(
      /^the user name and password in the URL holds a literal secret \(base_url: \*\*\*\)\nstore it as username:password: automate credentials set crm-login\nand put in its place: auth: \{ type: basic, credential: crm-login \}\n/,
    );
  });

  test('even a secret that is one of our words hides none of them', () => {
    expect(ofNode('headers: { X-API-Key: credentials, Secret: secret }')).toEqual([
      'the header "X-API-Key" holds a literal secret\nstore it: automate credentials set github-token\nand put in its place: auth: { type: api_key, header: X-API-Key, credential: github-token }',
      'the header "Secret" holds a literal secret\nstore it: automate credentials set github-token-2\nand put in its place: auth: { type: api_key, header: Secret, credential: github-token-2 }',
    ]);
  });
});

describe('the table of secrets', () => {
  const mixed = (length: number) => 'aB3dE5gH7jK9mN1pQ3sT5vW7'.repeat(4).slice(0, length);
  const hex = (length: number) => '9f86d081884c7d659a2feaa0c55ad015'.repeat(2).slice(0, length);
  const upper = (length: number) => 'QZ7KV2ND5XW3'.repeat(3).slice(0, length);
  /** Beginnings and a rest. They are put together only here, so that nobody takes them for lost ones. */
  const tokens = {
    sk_live_: mixed(24),
    sk_test_: mixed(24),
    rk_live_: mixed(24),
    rk_test_: mixed(24),
    whsec_: mixed(32),
    'sq0atp-': mixed(22),
    'sq0csp-': mixed(43),
    shpat_: hex(32),
    shpca_: hex(32),
    shppa_: hex(32),
    shpss_: hex(32),
    'sk-': `ant-api03-${mixed(40)}`,
    gsk_: mixed(52),
    'xai-': mixed(80),
    'pplx-': mixed(48),
    r8_: mixed(37),
    hf_: mixed(34),
    ghp_: mixed(36),
    gho_: mixed(36),
    ghu_: mixed(36),
    ghs_: mixed(36),
    ghr_: mixed(36),
    github_pat_: `${mixed(22)}_${mixed(59)}`,
    'glpat-': mixed(20),
    'gldt-': mixed(20),
    'glrt-': mixed(20),
    'glptt-': hex(40),
    'gloas-': hex(64),
    ATATT3: mixed(80),
    npm_: mixed(36),
    'pypi-': mixed(85),
    rubygems_: hex(48),
    dckr_pat_: mixed(27),
    'xoxa-': `2-${hex(12)}`,
    'xoxb-': `123456789012-${mixed(24)}`,
    'xoxc-': `123456789012-${mixed(24)}`,
    'xoxd-': mixed(40),
    'xoxe-': `1-${mixed(40)}`,
    'xoxp-': `123456789012-${hex(32)}`,
    'xoxr-': `123456789012-${mixed(24)}`,
    'xoxs-': `123456789012-${mixed(24)}`,
    'hooks.slack.com/services/': `T${upper(9)}/B${upper(9)}/${mixed(24)}`,
    'discord.com/api/': `webhooks/123456789012345678/${mixed(68)}`,
    'discordapp.com/api/': `webhooks/123456789012345678/${mixed(68)}`,
    'xapp-': `1-${upper(11)}-${hex(64)}`,
    bot: `1234567890:AA${mixed(33)}`,
    'SG.': `${mixed(22)}.${mixed(43)}`,
    'xkeysib-': `${hex(64)}-${mixed(16)}`,
    AKIA: upper(16),
    ASIA: upper(16),
    AIza: mixed(35),
    'ya29.': mixed(60),
    'GOCSPX-': mixed(28),
    dop_v1_: hex(64),
    doo_v1_: hex(64),
    dor_v1_: hex(64),
    dapi: hex(32),
    'hvs.': mixed(90),
    'dp.pt.': mixed(43),
    sbp_: hex(40),
    glsa_: `${mixed(32)}_${hex(8)}`,
    'NRAK-': upper(27),
    sntryu_: hex(64),
    lin_api_: mixed(40),
    ntn_: mixed(46),
    pat: `${mixed(14)}.${hex(64)}`,
    'pat-': `na1-${hex(8)}-1234-1234-1234-${hex(12)}`,
    figd_: mixed(40),
    'PMAK-': `${hex(24)}-${hex(34)}`,
    eyJ: `${mixed(20)}.eyJ${mixed(20)}.${mixed(43)}`,
  };

  test.each(Object.entries(tokens))('%s... is found', (begins, rest) => {
    const found = (value: string) =>
      flowProblems(`nodes: [{ type: http, method: POST, url: https://a.com, body: { note: "to ${value}!" } }]`);
    const problems = found(begins + rest);
    expect(problems.map(onOneLine)).toEqual([expect.stringMatching(/the value of "note" holds a literal secret$/)]);
    expect(JSON.stringify(problems)).not.toContain(rest.slice(0, 8));
    expect(found(begins)).toEqual([]);
    expect(found(`${begins}of-crm`)).toEqual([]);
  });

  const names = {
    authorization: 'header query body',
    'proxy-authorization': 'header body',
    'api-key': 'header query body',
    'api-token': 'header query body',
    'api-secret': 'header query body',
    'auth-key': 'header query body',
    'auth-token': 'header query body',
    'access-key': 'header query body',
    'access-token': 'header query body',
    'secret-key': 'header query body',
    'secret-token': 'header query body',
    'secret-access-key': 'header query body',
    'aws-secret-access-key': 'header query body',
    'private-key': 'header query body',
    'private-token': 'header query body',
    'refresh-key': 'header body',
    'refresh-token': 'header query body',
    'vault-key': 'header body',
    'vault-token': 'header body',
    'subscription-key': 'header query body',
    'subscription-token': 'header body',
    'bearer-token': 'header query body',
    'oauth-token': 'header query body',
    token: 'header query',
    'x-token': 'header query body',
    'client-secret': 'header query body',
    'app-secret': 'header query body',
    'consumer-secret': 'header query body',
    secret: 'header query body',
    password: 'header query body',
    passwd: 'header query body',
    pwd: 'header query body',
    passphrase: 'header query body',
    'x-rapidapi-key': 'header query body',
    'ocp-apim-subscription-key': 'header body',
    'x-functions-key': 'header',
    'x-goog-api-key': 'header',
    'x-amz-security-token': 'header query',
    'x-shopify-access-token': 'header',
    'x-figma-token': 'header',
    'x-postmark-server-token': 'header',
    'x-postmark-account-token': 'header',
    'x-redmine-api-key': 'header',
    'x-cisco-meraki-api-key': 'header',
    'xi-api-key': 'header',
    'dd-api-key': 'header',
    'dd-application-key': 'header',
    'fastly-key': 'header',
    'job-token': 'header query',
    'deploy-token': 'header',
    hapikey: 'query',
    auth: 'header query body',
    pass: 'query body',
    sig: 'query body',
    signature: 'query body',
  };

  test.each(Object.entries(names))('%s is found in %s', (name, places) => {
    const foundIn = {
      header: (called: string) => ofNode(`headers: { ${called}: ${secret} }`),
      query: (called: string) => ofNode(`url: https://a.com/?a=1&${called}=${secret}`),
      body: (called: string) => ofNode(`body: { ${called}: ${secret} }`),
    };
    const spellings = [name, name.toUpperCase(), name.replaceAll('-', '_'), name.replaceAll('-', ''), `X-${name}`];
    for (const [place, found] of Object.entries(foundIn)) {
      const isFound = places.split(' ').includes(place);
      const counted = isFound ? spellings : spellings.slice(0, 4);
      expect([place, counted.map((called) => found(called).length)]).toEqual([place, counted.map(() => Number(isFound))]);
    }
    const inText = ofNode(`body: '{"${name}": "${secret}"}'`);
    expect(inText).toHaveLength(Number(places.includes('body')));
  });

  const generated = { token: 'body', key: 'query', appid: 'query' };

  test.each(Object.entries(generated))('%s is found in %s, with a value that is random', (name, place) => {
    const found = (value: string) => ofNode(place === 'body' ? `body: { ${name}: ${value} }` : `url: https://a.com/?${name}=${value}`);
    expect([hex(32), mixed(16), mixed(24)].map((value) => found(value).length)).toEqual([1, 1, 1]);
    expect([secret, 'name', 'name-of-2024', hex(24), random.uuid].flatMap(found)).toEqual([]);
  });

  test('*secret* is found in a header', () => {
    for (const name of ['Acme-Secret', 'X-Hasura-Admin-Secret', 'acme_secret_word', 'AcmeSecret']) {
      expect(ofNode(`headers: { ${name}: word }`)).toHaveLength(1);
      expect(ofNode(`headers: { ${name}: "{{word}}" }`)).toEqual([]);
    }
  });

  const endings = { '*-key': 'Acme-Key', '*-token': 'Acme-Token', '*-password': 'Acme-Password' };

  test.each(Object.values(endings))('%s is found in a header, with a value that is random', (name) => {
    expect(ofNode(`headers: { ${name}: ${mixed(24)} }`)).toHaveLength(1);
    expect(ofNode(`headers: { ${name}: name-of-2024 }`)).toEqual([]);
    expect(ofNode(`body: { ${name}: ${mixed(24)} }`)).toEqual([]);
  });

  test('has no row that is not shown here', () => {
    const rows = secretShapes.map((shape) => ('begins' in shape ? shape.begins : shape.named));
    expect(rows.sort()).toEqual([...[tokens, names, generated, endings].flatMap((shown) => Object.keys(shown)), '*secret*'].sort());
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
    `body:\n      pem: |\n        -----BEGIN PRIVATE KEY-----\n        ${secret}\n     x: y`,
    `body: "-----BEGIN EC PRIVATE KEY-----\\n${secret}`,
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
      { numRuns: 200, seed: 1 },
    );
  });
});

test('what a batch sends is data, a connection called items is none', () => {
  const called = (name: string) =>
    connection(`    auth: { type: bearer, token: ${random.mixed} }`)
      .replace('  crm:', `  ${name}:`)
      .replace('connection: crm', `connection: ${name}`);
  expect(flowProblems(called('items')).map(onOneLine)).toEqual(flowProblems(called('other')).map(onOneLine));
  const sending = (options: string) =>
    flowProblems(`nodes: [{ type: http, method: POST, url: "https://a.example.com", map: { a: "r[]" }, ${options} }]`).map(onOneLine);
  const [problem = 'none', ...more] = sending(`batch: { items: { id: "{{id}}", api_key: ${random.mixed} } }, body: { s: "{{items}}" }`);
  expect(problem).toMatch(/secret/);
  expect(more).toEqual([]);
});

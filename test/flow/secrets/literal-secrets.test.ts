import { describe, expect, test } from 'vitest';
import { compileSavedConnection } from '../../../src/flow/connections.ts';
import { flowProblems, onOneLine } from '../../helpers/flow-problems.ts';
import { connection, random, secret } from './canary.ts';

describe('a literal secret in a flow', () => {
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
  ])('is refused, and the message says how to store the secret: %s', (line, problem) => {
    const yaml = `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`;
    const problems = flowProblems(yaml);
    expect(problems.map(onOneLine)).toContain(`${problem} contains a literal secret`);
    expect(problems[0]?.message).toMatch(/\n.*: automate credentials set (\S+)\n.*: (?:auth: \{ type: .*|\{ )credential: \1 \}$/);
    expect(JSON.stringify(problems)).not.toMatch(/s3cr3t|47110815|aB3dE5gH|4eC39|16C7e|canary|YTpj|9f86d|9qXhT/);
  });

  test.each([
    [`body: '{"api_key": "${secret}", "sig": "${secret}"}'`, ['the body\'s member "api_key"', 'the body\'s member "sig"']],
    [`url: "https://a.com/x?token=${secret}&sig=${secret}"`, ['the query parameter "token"', 'the query parameter "sig"']],
  ])('is reported individually if a value contains several secrets: %s', (line, found) => {
    const problems = flowProblems(
      `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`,
    );
    expect(problems.map(onOneLine)).toEqual(found.map((what) => expect.stringContaining(`${what} contains a literal secret`)));
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
  ])('is refused in a field of a set node: %s', (field, name) => {
    const problems = flowProblems(`nodes: [{ type: set, fields: { ${field} } }]`);
    expect(problems.map(onOneLine)).toEqual([expect.stringContaining(`the value of "${name}" contains a literal secret`)]);
    expect(JSON.stringify(problems)).not.toMatch(/s3cr3t|16C7e|AKIA|canary|YTpj|9f86d|aB3dE5gH|9qXhT/);
  });

  test.each([
    'api_key: "{{key}}", token: CAUQAA12, secret: none, password: Password, pass: true',
    'auth: "Bearer {{token}}", url: "https://{{user}}:{{password}}@a.com", api_key: name-of-2024-10-28',
    `id: ${random.uuid}, hash: ${random.hex}, etag: ${random.mixed}, pem: "-----BEGIN CERTIFICATE-----"`,
  ])('is not suspected in a set node with the fields %s', (fields) => {
    expect(flowProblems(`nodes: [{ type: set, fields: { ${fields} } }]`)).toEqual([]);
  });

  describe('under auth, in an option other than credential,', () => {
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
    ])('is found in %s: %o', (found, auth) => {
      const said = `${found} contains a literal secret`;
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
    ])('is not suspected in %o', (auth) => {
      expect(flowProblems(`nodes: [{ type: http, url: "https://a.com", auth: ${JSON.stringify(auth)} }]`)).toEqual([]);
    });
  });

  test('is refused in a connection as in a node', () => {
    expect(flowProblems(connection(`    headers: { X-Api-Key: ${secret} }`)).map(onOneLine)).toContain(
      '5:27 the header "X-Api-Key" contains a literal secret',
    );
    expect(
      flowProblems(`connections: { a: { type: http, base_url: "https://u:${secret}@a.com" } }\nnodes: [{ type: set }]`).map(onOneLine),
    ).toContain('1:43 the user name and password in the URL contains a literal secret');
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
  ])('is not suspected in an http node with %s', (line) => {
    const yaml = `nodes:\n  - type: http\n    method: POST\n    ${line}\n${line.startsWith('url') ? '' : '    url: https://a.com/x\n'}`;
    expect(flowProblems(yaml)).toEqual([]);
  });
});

test('a literal secret is found in the batch option items and in a connection called items', () => {
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

import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../../helpers/flow-problems.ts';
import { connection, said, secret } from './canary.ts';

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

  test('a node on one line with everything else is masked, too', () => {
    for (const auth of [secret, `{ type: ${secret} }`, `{ type: bearer, credential: "${secret} x" }`, `[${secret}`, `"${secret}`]) {
      expect(said(`nodes: [{ type: http, url: /x, auth: ${auth}, timeout: soon }]`)).not.toContain('s3cr3t');
      expect(said(`nodes:\n  - type: http\n    auth: ${auth}\n    url: /x\n    timeot: 5\n`)).not.toContain('s3cr3t');
    }
  });

  test('the target of an alias is masked, too', () => {
    expect(said(`x: &s ${secret}\n${connection('    auth: { type: bearer, credential: *s }')}`)).not.toContain('s3cr3t');
  });

  test.each([
    ['auth: { type: bearer, token: abc }', 'auth: { type: bearer, token: *** }'],
    ['auth: { type: bearer, credential: my-token, x: 1 }', 'auth: { type: bearer, credential: my-token, *: * }'],
    ['auth: bearer', 'auth: bearer'],
    ['auth: { type: bearr, credental: my-token }', 'auth: { type: bearr, credental: ***      }'],
    ['auth: { type: s3cr3t, credential: my-token }', 'auth: { type: ***   , credential: my-token }'],
    ['headers: [Accept, X-Request-Id]', 'headers: [Accept, X-Request-Id]'],
    ['headers: [a]', 'headers: [a]'],
    ['headers: [s3cr3t]', 'headers: [***   ]'],
  ])('legal words, names of credentials and headers stay visible: %s', (line, text) => {
    const [problem] = flowProblems(connection(`    ${line}`));
    expect(problem?.source?.text).toBe(`    ${text}`);
  });

  test('the name of a credential in a body stays visible', () => {
    const { credentials } = planFor('nodes:\n  - { type: http, method: POST, url: "https://a.com", body: { k: { credential: crm-key } } }');
    expect(credentials[0]?.problem('x').source?.text).toContain('{ k: { credential: crm-key } }');
  });

  test('a text that looks like the secret itself is refused as the name of a credential', () => {
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

test('the values beside a credential are shown in an excerpt, if they have their right shape', () => {
  const auth =
    'auth: { type: oauth2_client_credentials, token_url: https://a.example/token, client_id: my-app, credential: tok, scopee: x }';
  expect(said(connection(`    ${auth}`))).toContain('token_url: https://a.example/token, client_id: my-app, credential: tok, ');
});

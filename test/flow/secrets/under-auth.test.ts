import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../../helpers/flow-problems.ts';
import { connection, said, secret } from './canary.ts';

describe('a value under auth in a flow', () => {
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
  ])('is never printed, even if the YAML is not valid: %s', (lines) => {
    const all = said(connection(lines));
    expect(all).toContain('"line":');
    expect(all).not.toContain('s3cr3t');
  });

  test('is never printed, even if the node is on a single line', () => {
    for (const auth of [secret, `{ type: ${secret} }`, `{ type: bearer, credential: "${secret} x" }`, `[${secret}`, `"${secret}`]) {
      expect(said(`nodes: [{ type: http, url: /x, auth: ${auth}, timeout: soon }]`)).not.toContain('s3cr3t');
      expect(said(`nodes:\n  - type: http\n    auth: ${auth}\n    url: /x\n    timeot: 5\n`)).not.toContain('s3cr3t');
    }
  });

  test('is never printed, even if it comes from a YAML alias', () => {
    expect(said(`x: &s ${secret}\n${connection('    auth: { type: bearer, credential: *s }')}`)).not.toContain('s3cr3t');
  });

  test.each([
    ['auth: { type: bearer, token: abc }', '5:27 unknown key "token"; expected one of type, credential'],
    ['auth: { type: bearer, credential: my-token, audience: a.com }', '5:49 unknown key "audience"; expected one of type, credential'],
    ['auth: { type: bearer, credential: my-token, hunter }', '5:49 unknown key; expected one of type, credential'],
    ['auth: { type: bearer, credential: my-token, Hunter2: 1 }', '5:49 unknown key; expected one of type, credential'],
    ['auth: { type: bearer, credental: my-token }', '5:27 unknown key "credental"; did you mean "credential"?'],
    ['headers: [Accept, X-Request-Id]', '5:14 expected a mapping'],
    ['headers: { 1: { a: b } }', '5:19 expected a string, a number, true or false, found a mapping'],
  ])('is not shown as the source line of a problem under auth or headers: %s', (line, problem) => {
    const problems = flowProblems(connection(`    ${line}`));
    expect(problems.map(onOneLine)).toContain(problem);
    expect(problems.filter((one) => one.line === 5 && one.source)).toEqual([]);
  });

  test('does not hide the source line of a problem before or after auth', () => {
    const problems = flowProblems(connection('    rat: 1/s\n    auth:\n      type: bearer\n      credential: my-token\n    timeot: 1s'));
    const shown = problems.map(({ line, source }) => [line, source?.text]);
    expect(shown).toEqual(
      expect.arrayContaining([
        [5, '    rat: 1/s'],
        [9, '    timeot: 1s'],
      ]),
    );
  });

  test('is hidden like a credential in a body, whose problems have no source line', () => {
    const body = '    body:\n      a: 1\n      k: { credential: crm-key }';
    const { credentials } = planFor(`nodes:\n  - type: http\n    method: POST\n    url: https://a.com\n${body}\n`);
    expect(credentials[0]?.problem('x')).toEqual({ message: 'x', line: 7, column: 24 });
  });

  test('is never printed if it is a secret instead of the name of a credential', () => {
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
        '5:39 expected a name that does not end in "file", because its variable would be read as the file of another credential',
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

import { expect, test } from 'vitest';
import { idRows } from '../helpers/asking.ts';
import { savedConnections, workplace } from '../helpers/cli.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { clientSecret, loginApi } from '../helpers/login-api.ts';

const flow = (origin: string, more: string) => `vars: { audience: "https://crm" }
connections:
  crm:
    type: http
    base_url: "${origin}"
    auth: { type: oauth2_client_credentials, token_url: "${origin}/token", client_id: me, credential: c${more} }
nodes: [{ type: http, connection: crm, url: "/{{id}}", map: [name], retry: { max: 0 } }]
`;
const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--force'];
const env = { AUTOMATE_CREDENTIAL_C: clientSecret };

test('a flow can send `params`, and the client secret in the body, to the token server', async () => {
  const api = await loginApi({ audience: 'https://crm', client: 'body' });
  const place = await workplace({ 'rows.csv': idRows(3), 'flow.yaml': flow(api.origin, ', client_auth: body') });
  const without = await place.automate(args, { env });
  expect([without.code, await place.read('out.errors.csv')]).toEqual([4, expect.stringContaining('access_denied')]);
  await place.write('flow.yaml', flow(api.origin, ', client_auth: body, params: { audience: "{{vars.audience}}", max_age: 60 }'));
  expect(await place.automate(args, { env })).toMatchObject({ code: 0 });
  expect(Object.fromEntries(api.tokenRequests.at(-1) as URLSearchParams)).toEqual({
    ...{ grant_type: 'client_credentials', client_id: 'me', client_secret: clientSecret },
    ...{ audience: 'https://crm', max_age: '60' },
  });
});

test('a saved connection can contain params and client_auth', async () => {
  const api = await loginApi({ audience: 'https://crm', client: 'body' });
  const place = await workplace();
  const oauth = ['--token-url', `${api.origin}/token`, '--client-id', 'me', '--credential', 'c'];
  const more = ['--params', 'audience=https://crm', '--params', 'x=1=2', '--client-auth', 'body'];
  expect(await place.automate(['connections', 'add', 'http', 'crm', '--base-url', api.origin, ...oauth, ...more])).toMatchObject({
    code: 0,
  });
  const [{ auth }] = await savedConnections(place);
  expect(auth).toMatchObject({ params: { audience: 'https://crm', x: '1=2' }, client_auth: 'body' });
  expect(await place.automate(['connections', 'test', 'crm', '--path', '/1'], { env })).toMatchObject({ code: 0 });
  const wrong = await place.automate(['connections', 'add', 'http', 'x', '--base-url', api.origin, ...oauth, '--params', 'hunter2hunter2']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--params: expected NAME=VALUE')]);
  expect(wrong.stderr).not.toContain('hunter2');
});

const canary = 'CaNaRy0123456789abcdef4567';

test.each([
  ['params: { client_secret: x }', 'the secret comes from the credential in auth'],
  ['params: { grant_type: password }', '"grant_type" cannot be one of params: auth itself sets it'],
  ['params: [a]', 'expected'],
  ['params: { audience: [a] }', 'expected a string, a number, true or false'],
  ['client_auth: header', 'expected'],
  [`params: { api_key: ${canary} }`, 'the parameter "api_key"'],
  [`params: { audience: sk_live_${canary} }`, 'the parameter "audience"'],
  [`params: { password: ${canary} }`, 'the parameter "password"'],
  ['audience: https://crm', 'unknown key "audience"; expected one of type, credential, token_url, client_id, scopes, params, client_auth'],
])('the invalid OAuth setting %s is reported as a problem of the flow', async (option, message) => {
  const place = await workplace({ 'flow.yaml': flow('https://a.example.com', `, ${option}`) });
  const { code, stdout, stderr } = await place.automate(['validate', 'flow.yaml'], { env });
  expect([code, stdout, stderr]).toEqual([3, '', expect.stringContaining(message)]);
  expect(stderr).toMatch(/flow\.yaml:6:\d+/);
  expect(stderr).not.toContain(canary);
});

const login = (more: string) => `    auth: { type: oauth2_authorization_code, credential: c, client_id: me${more} }`;
const inConnection = (auth: string) => `connections:\n  crm:\n    type: http\n    base_url: https://a.example.com\n${auth}\n`;

test.each([
  [inConnection(login(', token_url: "https://a.example.com/t"')), 'expected authorize_url together with token_url'],
  [inConnection(login(', authorize_url: "http://a.example.com/t", token_url: "https://a.example.com/t"')), 'as the authorize_url'],
  [inConnection('    auth: { type: oauth2_authorization_code, credential: c }'), 'the key "client_id" is missing'],
  [
    'connections: { crm: { type: mcp, url: "https://a.example.com", auth: { type: oauth2_authorization_code, credential: c, params: { a: b } } } }\n',
    'unknown key "params"',
  ],
])('the invalid OAuth setting %j is reported as a problem of the flow', (connections, message) => {
  const problems = flowProblems(`${connections}nodes: [{ type: set, fields: { a: b } }]\n`);
  expect(problems.map(({ message: said }) => said).join('\n')).toContain(message);
});

import { expect, test } from 'vitest';
import { httpServer, json } from '../helpers/http-server.ts';
import { pageSession } from '../helpers/page-session.ts';
import { posting, servingHere as serving } from '../helpers/serving.ts';

const secret = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 's3cret-of-the-crm' };

test('the page gets the text of a flow, and the method and the URL of each request with references to fields', async () => {
  const flow = `vars: { region: eu }
connections:
  crm: { type: http, base_url: "https://crm.example.com/v2/", auth: { type: bearer, credential: crm-token } }
nodes:
  - { type: http, id: user, connection: crm, url: "/users/{{id}}?r={{vars.region}}" }
  - { type: http, id: made, method: POST, url: "https://other.example.com/{{id}}", body: { a: 1 } }
  - { type: loop, id: again, while: "false", nodes: [{ type: http, id: inner, url: "https://other.example.com/x" }] }
  - { type: llm, id: asked, provider: ollama, model: m, prompt: "hi {{id}}", output: { x: string } }
  - { type: geocode, id: embedded, address: "{{address}}" }
  - { type: set, fields: { b: "1" } }
`;
  const ask = await pageSession(await serving({ many: flow, wrong: 'nodes: [{ type: htp, password: secret-word }]' }, { env: secret }));
  expect(await (await ask('/ui/flows/many/text')).json()).toMatchObject({
    ...{ file: 'many.yaml', text: flow },
    requests: [
      { id: 'user', method: 'GET', url: 'https://crm.example.com/v2/users/{{id}}?r=eu' },
      { id: 'made', method: 'POST', url: 'https://other.example.com/{{id}}' },
      { id: 'inner', method: 'GET', url: 'https://other.example.com/x' },
      { id: 'asked', method: 'POST', url: 'http://127.0.0.1:11434/api/chat' },
    ],
  });
  // A flow that is not valid can contain a secret.
  expect(await (await ask('/ui/flows/wrong/text')).json()).toMatchObject({ text: null, requests: [] });
});

test.each([
  ['type: bearer', { Authorization: 'Bearer ***' }, ''],
  ['type: basic', { Authorization: 'Basic ***' }, ''],
  ['type: api_key, header: X-Key', { 'X-Key': '***' }, ''],
  ['type: api_key, query: key', {}, '?key=***'],
])('a test request and a plan show the masked line of auth { %s }', async (auth, headers, query) => {
  const { origin, requests } = await httpServer((_, response) => json(response, { name: 'Ada' }));
  const flow = `nodes: [{ type: http, url: "${origin}/{{id}}", auth: { ${auth}, credential: crm-token } }]\n`;
  const env = { AUTOMATE_CREDENTIAL_CRM_TOKEN: auth === 'type: basic' ? 'me:s3cret-of-the-crm' : 's3cret-of-the-crm' };
  const { send, key } = await serving({ ask: flow }, { env });
  const one = key({ scopes: ['run', 'test'] });
  const shown = { method: 'GET', url: `${origin}/17${query}`, headers };
  const tested = await (await send('/v1/flows/ask/tests', { key: one, ...posting({ record: { id: 17 } }) })).text();
  expect(JSON.parse(tested)).toMatchObject({ request: shown, response: { status: 200 } });
  const planned = await send('/v1/flows/ask/plans', {
    key: one,
    method: 'POST',
    body: 'id\n17\n',
    headers: { 'content-type': 'text/csv' },
  });
  expect(await planned.json()).toMatchObject({ first_request: shown });
  expect(tested).not.toContain('s3cret');
  expect(requests).toHaveLength(1);
});

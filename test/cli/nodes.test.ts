import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { nodeTypes } from '../helpers/node-types.ts';

/** Runs `automate nodes` for all node types, or for one. */
async function nodes(...type: string[]) {
  return (await workplace()).automate(['nodes', ...type]);
}

test('automate nodes lists every node type with a one-line summary', async () => {
  const { code, stdout, stderr } = await nodes();
  expect([code, stderr]).toEqual([0, '']);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
  ).toEqual(nodeTypes.map(({ name, summary }) => [name, summary]));
});

test.each(nodeTypes.map(({ name }) => name))('automate nodes %s explains every option and shows a valid example', async (name) => {
  const { code, stdout } = await nodes(name);
  const type = nodeTypes.find((candidate) => candidate.name === name);
  expect(code).toBe(0);
  for (const option of ['id', 'when', 'on_error', ...Object.keys(type?.options.shape ?? {})])
    expect(stdout).toMatch(new RegExp(`^  ${option}: `, 'm'));
  const example = stdout.split('\nexample:\n')[1] ?? '';
  const flow = `connections: { search-tools: { type: mcp, command: none } }\nnodes:\n${example}`;
  const place = await workplace({ 'flow.yaml': flow, 'owners.csv': 'website,owner_name,team\n' });
  const env = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'canary-7f3a', AUTOMATE_CREDENTIAL_OPENAI_API_KEY: 'canary-7f3b' };
  expect(await place.automate(['validate', 'flow.yaml', '--offline'], { env })).toMatchObject({ code: 0 });
});

test("automate nodes lists each option's values, default and purpose", async () => {
  const { stdout } = await nodes('http');
  expect(stdout).toMatch(/\n {2}method: GET \| POST \| PUT \| PATCH \| DELETE \| HEAD \|.*, default GET\n/);
  expect(stdout).toContain('\n  timeout: duration, default 30s\n      maximum time for one attempt, until the whole answer has arrived\n');
  expect(stdout).toContain('\n  retry.max: whole number, default 3\n      maximum number of retries after the first attempt\n');
  expect(stdout).toContain('\n  retry.max_wait: duration, default 5m\n');
  expect(stdout).toContain('\n  max_body: size, default 10MB\n');
  expect(stdout).toContain('\n  retry.backoff.max: duration, default 60s, or initial if that is longer\n      the longest wait\n');
  expect(stdout).toContain('\n  url: string, required\n');
  expect(stdout).toContain(
    '\n  auth.type: none | bearer | api_key | basic | oauth2_client_credentials | oauth2_jwt_bearer | jwt | hmac | aws_sigv4 | digest | session, required\n',
  );
});

test.each([
  ['htp', 'no node type "htp"; did you mean "http"?'],
  ['constructor', `no node type "constructor"; expected ${nodeTypes.map(({ name }) => name).join(', ')}`],
])('automate nodes refuses the unknown type %s', async (name, message) => {
  expect(await nodes(name)).toEqual({ code: 2, stdout: '', stderr: `automate: ${message}\n` });
});

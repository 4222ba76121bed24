import { expect, test } from 'vitest';
import { servingHere as serving } from '../helpers/serving.ts';

test('the start names the file of a flow that is not valid, and offers a call of one that is, with its fields', async () => {
  const one = 'nodes: [{ type: set, fields: { a: "<{{id}}>" } }]\n';
  const server = await serving({ broken: 'nodes:\n  - { type: htp }\n', one });
  await expect.poll(server.said).toContain('/calls');
  expect(server.said()).toMatch(/not valid: \S*broken\.yaml:2:13: /);
  expect(server.said()).toContain(`/v1/flows/one/calls -H "Authorization: Bearer $KEY" --json '{"id":"..."}'`);
});

import { expect, test } from 'vitest';
import { servingHere as serving } from '../helpers/serving.ts';

test('the server first prints which flows are invalid, and an example call to a valid flow', async () => {
  const one = 'nodes: [{ type: set, fields: { a: "<{{id}}>" } }]\n';
  const server = await serving({ broken: 'nodes:\n  - { type: htp }\n', one });
  await expect.poll(server.said).toContain('/calls');
  expect(server.said()).toMatch(/not valid: \S*broken\.yaml:2:13: /);
  expect(server.said()).toContain(`/v1/flows/one/calls -H "Authorization: Bearer $KEY" --json '{"id":"..."}'`);
});

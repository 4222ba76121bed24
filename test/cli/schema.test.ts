import { expect, test } from 'vitest';
import { flowJsonSchema } from '../../src/flow/json-schema.ts';
import { nodeTypes } from '../../src/nodes/index.ts';
import { workplace } from '../helpers/cli.ts';
import { breaches, type Schema } from '../helpers/json-schema.ts';

test('schema prints only the JSON Schema of the flow file', async () => {
  const { code, stdout, stderr } = await (await workplace()).automate(['schema']);
  const schema = JSON.parse(stdout) as Schema;
  expect([code, stderr]).toEqual([0, '']);
  expect(schema).toEqual(JSON.parse(JSON.stringify(flowJsonSchema(nodeTypes))));
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
  expect(breaches(schema, { nodes: [{ type: 'http', url: 'https://a.example/{{id}}', map: ['a.b'] }] })).toEqual([]);
  expect(breaches(schema, { nodes: [{ type: 'http', ulr: 'https://a.example' }] })).not.toEqual([]);
});

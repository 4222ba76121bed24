import { expect, test } from 'vitest';
import { flowJsonSchema } from '../../src/flow/json-schema.ts';
import { workplace } from '../helpers/cli.ts';
import { breaches, type Schema } from '../helpers/json-schema.ts';
import { nodeTypes } from '../helpers/node-types.ts';

test('automate schema prints only the JSON Schema of flow files', async () => {
  const { code, stdout, stderr } = await (await workplace()).automate(['schema']);
  const schema = JSON.parse(stdout) as Schema;
  expect([code, stderr]).toEqual([0, '']);
  expect(schema).toEqual(JSON.parse(JSON.stringify(flowJsonSchema(nodeTypes))));
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
  expect(breaches(schema, { nodes: [{ type: 'http', url: 'https://a.example/{{id}}', map: ['a.b'] }] })).toEqual([]);
  expect(breaches(schema, { nodes: [{ type: 'http', ulr: 'https://a.example' }] })).not.toEqual([]);
});

test('automate schema --out writes the JSON Schema to a file, and overwrites only a JSON Schema', async () => {
  const place = await workplace({ 'rows.json': '[{"a":1}]', 'flow.yaml': 'nodes: []\n' });
  const printed = await place.automate(['schema']);
  for (let round = 0; round < 2; round++) {
    expect(await place.automate(['schema', '--out', 'flow.schema.json'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'wrote flow.schema.json\n',
    });
    expect(await place.read('flow.schema.json')).toBe(printed.stdout);
  }
  for (const other of ['rows.json', 'flow.yaml']) {
    const before = await place.read(other);
    const { code, stderr } = await place.automate(['schema', '--out', other]);
    expect([code, stderr]).toEqual([73, expect.stringContaining(`${other} already exists, and is not a JSON Schema\n`)]);
    expect(await place.read(other)).toBe(before);
  }
  expect((await place.automate(['schema', '--out', 'none/flow.schema.json'])).code).toBe(74);
  expect((await place.automate(['schema', '--out', '-'])).code).toBe(2);
});

test.each([
  ['flow.schema.json', '.', 'flow.schema.json'],
  ['flow.schema.json', 'crm', '../flow.schema.json'],
  ['schemas/flow.json', 'flows/crm', '../../schemas/flow.json'],
  ['https://example.com/flow.schema.json', '.', 'https://example.com/flow.schema.json'],
])("init --schema %s for the folder %s begins the flow with the schema's relative path", async (schema, folder, path) => {
  const place = await workplace();
  const { code } = await place.automate(['init', folder, '--schema', schema]);
  const text = await place.read(`${folder}/flow.yaml`);
  expect([code, text.split('\n')[0]]).toEqual([0, `# yaml-language-server: $schema=${path}`]);
  expect((await place.automate(['validate', `${folder}/flow.yaml`])).code).toBe(0);
});

test('init --schema writes a path with spaces as a URL', async () => {
  const place = await workplace();
  const { stderr } = await place.automate(['init', '--schema', 'my schema.json', '--from-curl', 'curl https://api.example.com/1']);
  expect(stderr).toContain("  there is no my schema.json yet; write it: automate schema --out 'my schema.json'\n");
  expect((await place.read('flow.yaml')).split('\n')[0]).toMatch(/^# yaml-language-server: \$schema=file:\/\/\/.*\/my%20schema\.json$/);
  await place.automate(['schema', '--out', 'my schema.json']);
  expect((await place.automate(['init', 'second', '--schema', 'my schema.json'])).stderr).not.toContain('there is no');
});

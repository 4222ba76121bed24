import { mkdirSync, renameSync, unlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { posting, type Serving, servingHere } from '../helpers/serving.ts';

const joining = `nodes:
  - { type: join, file: data/owners.csv, on: { domain: website }, map: [owner] }
`;

const checking = (origin: string) => `nodes:
  - { type: check, schema: record.schema.json }
  - { type: http, url: "${origin}/{{id}}", answer_schema: answer.schema.json, map: { n: n } }
`;

const files = {
  'flows/data/owners.csv': 'website,owner\nacme.example,Ann\n',
  'flows/record.schema.json': '{ "properties": { "id": { "$ref": "id.schema.json" } } }',
  'flows/id.schema.json': '{ "type": "integer", "maximum": 10 }',
  'flows/answer.schema.json': '{ "properties": { "n": { "maximum": 5 } } }',
};

async function serving() {
  const { origin } = await answeringServer(({ path }) => ({ body: { n: Number(path.slice(1)) } }));
  const place = await workplace();
  mkdirSync(place.path('flows/data'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await place.write(name, text);
  const server = await servingHere({ join: joining, check: checking(origin) }, { place });
  const key = server.key();
  const call = async (flow: string, record: object) => {
    const response = await server.send(`/v1/flows/${flow}/calls`, { key, ...posting(record) });
    return (await response.json()) as { records?: unknown; detail?: string; errors?: { message: string }[] };
  };
  return { server, place, call, run: (flow: string, csv: string) => ranOver(server, key, flow, csv) };
}

async function ranOver({ send }: Serving, key: string, flow: string, body: string) {
  const headers = { 'content-type': 'text/csv', prefer: 'wait=30' };
  const run = (await (await send(`/v1/flows/${flow}/runs`, { key, method: 'POST', headers, body })).json()) as RunShape;
  const text = async (path: string) => (await send(path, { key })).text();
  return { run, output: await text(run.links.output), errors: await text(run.links.errors), key };
}

describe('a run on a server', () => {
  test('reads the joined file beside the flow', async () => {
    const { run } = await serving();
    const { output } = await run('join', 'domain\nacme.example\nnone\n');
    expect(output).toBe('domain,owner\nacme.example,Ann\nnone,\n');
  });

  test('checks records and answers against the schemas of the flow', async () => {
    const { run } = await serving();
    const { output, errors } = await run('check', 'id\n3\n7\n70\n');
    expect(output).toBe('id,n\n3,3\n');
    expect(errors).toContain('$.n: expected to be <= 5, found 7');
    expect(errors).toContain('$.id: expected to be <= 10, found 70');
  });

  test('is refused if a schema refers to a file outside of its folder', async () => {
    const { place, call } = await serving();
    await place.write('secrets.json', '{ "type": "integer" }');
    await place.write('flows/record.schema.json', '{ "properties": { "id": { "$ref": "../secrets.json" } } }');
    const { errors } = await call('check', { id: 3 });
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining('../secrets.json leads out of its folder') })]);
  });

  test('keeps its schemas for a retry, even if they have changed', async () => {
    const { server, place, run } = await serving();
    const first = await run('check', 'id\n70\n');
    await place.write('flows/id.schema.json', '{ "type": "integer" }');
    const response = await server.send(`/v1/runs/${first.run.id}/retry`, { key: first.key, method: 'POST' });
    const retry = (await response.json()) as RunShape;
    await (await server.send(`${retry.links.output}?follow=true`, { key: first.key })).text();
    const errors = await (await server.send(retry.links.errors, { key: first.key })).text();
    expect(errors).toContain('$.id: expected to be <= 10, found 70');
  });

  test('ends with the name of a joined file that cannot be read, and without the folder of the server', async () => {
    const { place, run } = await serving();
    await place.write('flows/data/owners.csv', 'website,owner\n"acme.example,Ann\n');
    const { state, reason } = (await run('join', 'domain\nacme.example\n')).run;
    expect([state, reason]).toEqual(['failed', expect.stringMatching(/^data\/owners\.csv:2: expected a closing quote/)]);
  });
});

test('the page has how often a joined file was found, and the rules that were broken', async () => {
  const { place, run } = await serving();
  const rules = '{ "no site": domain != "none", long: size(domain) < 20 }';
  await place.write('flows/join.yaml', `nodes:\n  - { type: check, rules: ${rules}, action: warn }\n${joining.replace('nodes:\n', '')}`);
  const ended = (await run('join', 'domain\nacme.example\nnone\n')).run;
  expect(JSON.parse(await place.read(`.automate/serve/runs/${ended.id}/view.json`))).toMatchObject({
    joins: [{ node: 'join-2', file: 'data/owners.csv', found: 1, of: 2 }],
    brokenRules: [{ node: 'check-1', rules: [{ rule: 'no site', records: 1 }] }],
  });
});

describe('a call', () => {
  test('uses a schema as it is then', async () => {
    const { place, call } = await serving();
    expect((await call('check', { id: 3 })).records).toEqual([{ id: 3, n: 3 }]);
    await place.write('flows/id.schema.json', '{ "maximum": 2 }');
    expect((await call('check', { id: 3 })).detail).toBe('record.schema.json: $.id: expected to be <= 2, found 3');
  });

  test('is refused while the joined file is missing, and works once it is there', async () => {
    const { place, call } = await serving();
    expect((await call('join', { domain: 'acme.example' })).records).toEqual([{ domain: 'acme.example', owner: 'Ann' }]);
    const path = place.path('flows/data/owners.csv');
    renameSync(path, `${path}.away`);
    expect((await call('join', { domain: 'acme.example' })).errors?.[0]?.message).toMatch(/^data\/owners\.csv: expected a file/);
    renameSync(`${path}.away`, path);
    expect((await call('join', { domain: 'acme.example' })).records).toEqual([{ domain: 'acme.example', owner: 'Ann' }]);
  });

  test('fails with the reason if the rows of the joined file cannot be read', async () => {
    const { place, call } = await serving();
    await place.write('flows/data/owners.csv', 'website,owner\n"acme.example,Ann\n');
    expect((await call('join', { domain: 'acme.example' })).detail).toMatch(/^data\/owners\.csv:2: expected a closing quote/);
  });

  test('is refused if a file to which a schema refers is deleted', async () => {
    const { place, call } = await serving();
    await call('check', { id: 3 });
    unlinkSync(place.path('flows/id.schema.json'));
    expect((await call('check', { id: 3 })).detail).toBe('check is not valid');
  });
});

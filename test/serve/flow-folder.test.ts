import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FlowFolder } from '../../src/app/flow/flow-folder.ts';

const text = 'nodes: [{ type: set, fields: { b: "1" } }]';

/** A folder of flows. `ageMs`: the age that its files seem to have, beside their own. */
function flowFolder(ageMs = 0) {
  const path = mkdtempSync(join(tmpdir(), 'automate-flows-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const folder = new FlowFolder(path, { allowHttp: false, wallNow: () => Date.now() + ageMs });
  const write = (name: string, content = text) => writeFileSync(join(path, name), content);
  const ids = async () => (await folder.list()).flows.map(({ id }) => id);
  return { path: (name: string) => join(path, name), folder, write, ids };
}

/** Requests of one turn of the event loop share what they see. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ['just written', 0],
  ['old', 60_000],
])('in a folder with files that are %s', (_, ageMs) => {
  test('an added, a changed, a renamed and a deleted flow counts from the next request on', async () => {
    const { folder, write, ids, path } = flowFolder(ageMs);
    write('a.yaml');
    expect(await ids()).toEqual(['a']);
    await nextTurn();
    write('b.yml');
    expect(await ids()).toEqual(['a', 'b']);
    await nextTurn();
    write('a.yaml', 'nodes: 7');
    expect((await folder.find('a'))?.problems).toHaveLength(1);
    await nextTurn();
    renameSync(path('b.yml'), path('c.yml'));
    expect([await folder.find('b'), (await folder.find('c'))?.problems]).toEqual([undefined, []]);
    await nextTurn();
    unlinkSync(path('a.yaml'));
    expect(await ids()).toEqual(['c']);
  });

  test('a flow that has not changed stays the same, and is compiled once', async () => {
    const { folder, write } = flowFolder(ageMs);
    for (let n = 0; n < 50; n++) write(`f${n}.yaml`);
    const first = await folder.list();
    await nextTurn();
    const second = await folder.list();
    expect(second.flows).toHaveLength(50);
    expect(second.flows.every((flow, index) => flow === first.flows[index])).toBe(true);
    await nextTurn();
    expect(await folder.find('f7')).toBe(first.flows.find(({ id }) => id === 'f7'));
  });

  test('a link is followed only inside the folder, also when what it leads to changes', async () => {
    const { folder, write, path } = flowFolder(ageMs);
    const outside = flowFolder();
    outside.write('x.yaml');
    mkdirSync(path('sub'));
    write('sub/x.yaml');
    symlinkSync(path('sub/x.yaml'), path('a.yaml'));
    symlinkSync(outside.path('x.yaml'), path('b.yaml'));
    expect([(await folder.find('a'))?.id, await folder.find('b')]).toEqual(['a', undefined]);
    await nextTurn();
    renameSync(path('sub'), path('old'));
    symlinkSync(outside.path('.'), path('sub'));
    expect(await folder.find('a')).toBeUndefined();
    expect((await folder.list()).unserved.map(({ file }) => file)).toEqual(['a.yaml', 'b.yaml']);
  });
});

test('a change that leaves time and size as they are counts, too', async () => {
  const { folder, write } = flowFolder();
  for (const name of ['one', 'two', 'six']) {
    write('a.yaml', `name: ${name}\n${text}`);
    expect((await folder.find('a'))?.plan?.name).toBe(name);
    await nextTurn();
  }
});

test('a pipe or a folder with the name of a flow is not read, and is told', async () => {
  const { folder, path, write } = flowFolder();
  execFileSync('sh', ['-c', `mkfifo '${path('f.yaml')}'`]);
  mkdirSync(path('g.yaml'));
  write('a.yaml');
  expect(await folder.find('f')).toBeUndefined();
  const { flows, unserved } = await folder.list();
  expect(flows.map(({ id }) => id)).toEqual(['a']);
  expect(unserved).toEqual(['f.yaml', 'g.yaml'].map((file) => ({ file, reason: 'it is not a file' })));
});

test('a file of tests is no flow, and is passed over', async () => {
  const { folder, write } = flowFolder();
  for (const name of ['a.yaml', 'a.test.yaml', 'b.test.yml', 'test.yaml']) write(name);
  const { flows, unserved } = await folder.list();
  expect([flows.map(({ id }) => id), unserved]).toEqual([['a', 'test'], []]);
});

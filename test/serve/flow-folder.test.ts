import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FlowFolder } from '../../src/run/flow-folder.ts';

const text = 'nodes: [{ type: set, fields: { b: "1" } }]';

/** Creates a folder of flows. `ageMs` is added to the real age of its files. */
function flowFolder(ageMs = 0) {
  const path = mkdtempSync(join(tmpdir(), 'automate-flows-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const folder = new FlowFolder(path, { allowHttp: false, wallNow: () => Date.now() + ageMs });
  const write = (name: string, content = text) => writeFileSync(join(path, name), content);
  const ids = async () => (await folder.list()).flows.map(({ id }) => id);
  return { path: (name: string) => join(path, name), folder, write, ids };
}

/** Waits for the next turn of the event loop, because requests in the same turn share what they read. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ['just written', 0],
  ['old', 60_000],
])('a server whose flow files are %s', (_, ageMs) => {
  test('notices at the next request that a flow was added, changed, renamed or deleted', async () => {
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

  test('compiles an unchanged flow only once', async () => {
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

  test('follows a symbolic link only if its current target is in the folder', async () => {
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

test('a server notices a changed flow even if its modification time and size stay the same', async () => {
  const { folder, write } = flowFolder();
  for (const name of ['one', 'two', 'six']) {
    write('a.yaml', `name: ${name}\n${text}`);
    expect((await folder.find('a'))?.plan?.name).toBe(name);
    await nextTurn();
  }
});

test("a server reports, but does not read, a pipe or folder with a flow's file name", async () => {
  const { folder, path, write } = flowFolder();
  execFileSync('sh', ['-c', `mkfifo '${path('f.yaml')}'`]);
  mkdirSync(path('g.yaml'));
  write('a.yaml');
  expect(await folder.find('f')).toBeUndefined();
  const { flows, unserved } = await folder.list();
  expect(flows.map(({ id }) => id)).toEqual(['a']);
  expect(unserved).toEqual(['f.yaml', 'g.yaml'].map((file) => ({ file, reason: 'it is not a file' })));
});

test('a server does not offer a file of flow tests as a flow', async () => {
  const { folder, write } = flowFolder();
  for (const name of ['a.yaml', 'a.test.yaml', 'b.test.yml', 'test.yaml']) write(name);
  const { flows, unserved } = await folder.list();
  expect([flows.map(({ id }) => id), unserved]).toEqual([['a', 'test'], []]);
});

import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

/** A script that hides the native modules of libsql, as if they had been installed for another platform. */
const hide = `const { Module } = require('node:module');
const find = Module._resolveFilename;
Module._resolveFilename = (name, ...more) => {
  if (name.startsWith('@libsql/')) throw new Error("Cannot find module '" + name + "'");
  return find(name, ...more);
};`;

test("a run without libsql's native module warns that credits are not counted, and continues", async () => {
  const server = await httpServer((_, response) => json(response, { name: 'a' }));
  const place = await workplace({
    'hide.cjs': hide,
    'flow.yaml': `nodes:\n  - type: http\n    url: ${server.origin}/{{id}}\n    map: [name]\n`,
    'rows.csv': 'id\n1\n',
  });
  const node = ['--require', place.path('hide.cjs')];
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], { node });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/credits are not counted: .*its library libsql cannot be loaded here/)]);
  expect(stderr).not.toContain('bug');
  expect(await place.read('out.csv')).toBe('id,name\n1,a\n');
});

test.each([[[]], [['--json']], [['history']], [['export']]])(
  "automate credits %j shows an error instead of credits without libsql's native module",
  async (args) => {
    const place = await workplace({ 'hide.cjs': hide });
    const { code, stdout, stderr } = await place.automate(['credits', ...args], { node: ['--require', place.path('hide.cjs')] });
    expect([code, stdout, stderr]).toEqual([74, '', expect.stringContaining('its library libsql cannot be loaded here')]);
  },
);

test("a run without libsql's native module continues even if credits were counted earlier", async () => {
  const server = await httpServer((_, response) => json(response, { name: 'a' }));
  const place = await workplace({
    'hide.cjs': hide,
    'flow.yaml': `nodes:\n  - type: http\n    url: ${server.origin}/{{id}}\n    map: [name]\n`,
    'rows.csv': 'id\n1\n',
  });
  const run = (out: string, node?: string[]) => place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', out], { node });
  await run('first.csv');
  await place.automate(['credits', 'limit', '5']);
  await place.automate(['credits', 'limit', 'unlimited']);
  const { code, stderr } = await run('out.csv', ['--require', place.path('hide.cjs')]);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/credits are not counted: .*its library libsql cannot be loaded here/)]);
  expect(await place.read('out.csv')).toBe('id,name\n1,a\n');
});

test("a run without libsql's native module sends nothing if there is an allowance", async () => {
  const server = await httpServer((_, response) => json(response, { name: 'a' }));
  const place = await workplace({
    'hide.cjs': hide,
    'flow.yaml': `nodes:\n  - type: http\n    url: ${server.origin}/{{id}}\n    map: [name]\n`,
    'rows.csv': 'id\n1\n',
  });
  await place.automate(['credits', 'limit', '5']);
  const node = ['--require', place.path('hide.cjs')];
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], { node });
  expect([code, stderr]).toEqual([74, expect.stringContaining('its library libsql cannot be loaded here')]);
  expect(server.requests).toEqual([]);
});

import { mkdir, symlink } from 'node:fs/promises';
import { split } from 'shlex';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { commands, loadCommand } from '../../src/cli/commands.ts';
import { describedOptions } from '../../src/cli/described-options.ts';
import { exitCodeMeanings } from '../../src/cli/exit-code-meanings.ts';
import type { CommandSpec } from '../../src/cli/options.ts';
import { skillText } from '../../src/cli/skill-text.ts';
import { compilePath } from '../../src/core/answer/path.ts';
import { allAuthNames } from '../../src/core/auth/auth.ts';
import { toJsonSchema } from '../../src/flow/json-schema.ts';
import { connectionSchema, flowSchema, nodeSchema } from '../../src/flow/schema.ts';
import { exitCodes } from '../../src/run/exit-codes.ts';
import { exampleApi } from '../docs/example-api.ts';
import { root } from '../docs/pages.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { nodeTypes } from '../helpers/node-types.ts';
import { shell } from '../helpers/shell.ts';

const loaded = await Promise.all(commands.map(loadCommand));
const skill = await skillText(loaded);
const codes = [...skill.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

/** The inline code of the line that begins like this. */
function codesOf(beginning: string): string[] {
  const line = skill.split('\n').find((one) => one.startsWith(beginning)) ?? '';
  return [...line.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

test('automate skill prints the text to stdout, and needs no more than the command', async () => {
  const place = await workplace();
  expect(await place.automate(['skill'])).toEqual({ code: 0, stdout: `${skill}\n`, stderr: '' });
  expect(await place.files()).toEqual([]);
});

test('automate skill refuses an argument', async () => {
  const { code, stdout, stderr } = await (await workplace()).automate(['skill', 'crm']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('too many arguments');
});

test('the text begins with the front matter of a skill, and fits into the context of an agent', () => {
  const [, written = ''] = /^---\n(.*?)\n---\n# automate\n/s.exec(skill) ?? [];
  const { name, description, compatibility, ...more } = parse(written);
  expect(name).toBe('automate');
  expect(description).toMatch(/^\S.{100,1023}$/);
  expect(compatibility).toMatch(/^\S.{1,499}$/);
  expect(more).toEqual({ license: 'MIT', metadata: { version: expect.stringMatching(/^\d/) } });
  // The specification recommends at most 500 lines and about 5,000 tokens.
  expect(skill.split('\n').length).toBeLessThan(280);
  expect(skill.length).toBeLessThan(24_000);
});

test('the text has every node type with its example, every type of auth, and every exit code', () => {
  for (const { summary, example } of nodeTypes) expect(skill).toContain(`\n# ${summary}\n${example}\n`);
  expect(codesOf('- Types of `auth`')).toEqual(expect.arrayContaining([...allAuthNames]));
  const shown = exitCodeMeanings.flatMap(({ code }) => code.split(', ').map(Number));
  expect(shown).toEqual(expect.arrayContaining(Object.values(exitCodes)));
  for (const { code } of exitCodeMeanings) expect(skill).toContain(`\n| ${code} | `);
});

describe('what the text names', () => {
  const all = (specs: readonly CommandSpec[]): CommandSpec[] => specs.flatMap((spec) => [spec, ...all(spec.commands ?? [])]);

  test('are commands of the program', () => {
    const isCommand = ([word, ...more]: readonly string[], specs: readonly CommandSpec[]): boolean => {
      const spec = specs.find(({ name }) => name === word);
      return spec !== undefined && (more.length === 0 || !spec.commands || isCommand(more, spec.commands));
    };
    const named = codes.flatMap((code) => [...code.matchAll(/^automate((?: [a-z][a-z-]*)+)/g)].map(([, words = '']) => words.trim()));
    expect(named.filter((words) => !isCommand(words.split(' '), loaded))).toEqual([]);
    expect(new Set(named).size).toBeGreaterThan(30);
  });

  test('are options of the program', () => {
    const options = new Set(all(loaded).flatMap((spec) => Object.values(spec.options ?? {}).map(({ flags }) => flags.split(' ')[0])));
    const named = codes.flatMap((code) => [...code.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option));
    expect(named.filter((option) => !options.has(option) && option !== '--help')).toEqual([]);
    expect(new Set(named).size).toBeGreaterThan(25);
  });

  test('are keys of flows, or words that the program prints', () => {
    const keys = [...nodeTypes.map(nodeSchema), flowSchema, connectionSchema].flatMap((schema) =>
      describedOptions(toJsonSchema(schema)).flatMap(({ name }) => [name, ...name.split('.')]),
    );
    const printed = ['exit_code', 'failed', 'failures', 'mapped', 'next', 'structure', '_error_class', '_error_status', '_error_message'];
    const names = [...loaded, ...nodeTypes].map(({ name }) => name);
    const others = ['automate', 'docs', 'head', 'status', 'record', '_', 'type'];
    const known = new Set([...keys, ...printed, ...allAuthNames, ...names, ...others]);
    expect(codes.filter((code) => /^[a-z_]+$/.test(code) && !known.has(code))).toEqual([]);
  });

  test('are valid paths and expressions', async () => {
    for (const path of codesOf('- Path: ')) expect(() => compilePath(path), path).not.toThrow();
    const conditions = codesOf('- Expression: ').filter((code) => /[=>] /.test(code));
    expect(conditions.length).toBeGreaterThan(2);
    const place = await workplace({ 'flow.yaml': JSON.stringify({ nodes: conditions.map((where) => ({ type: 'filter', where })) }) });
    expect(await place.automate(['validate', 'flow.yaml'])).toMatchObject({ code: 0 });
  });
});

test('an agent that types the commands of the text gets from a curl command to a finished file', async () => {
  const api = await answeringServer(exampleApi());
  const place = await workplace({ 'rows.csv': 'id\n17\n18\n19\n' });
  const steps = [...skill.matchAll(/^\d\. .*?`automate (.+?)`/gm)].map(([, words = '']) => words);
  const ends: unknown[] = [];
  // A pilot ends with the command that continues it.
  for (const words of steps.filter((step) => !step.includes('--pilot'))) {
    if (words.startsWith('retry')) await place.write('out.errors.csv', (await place.read('out.errors.csv')).replace('19', '21'));
    const { code } = await place.automate(split(words.replace('https://api.example.com', `http://127.0.0.1:${api.port}`)));
    ends.push([words.split(' ')[0], code]);
  }
  expect(ends).toEqual([
    ['init', 0],
    ['validate', 0],
    ['test-request', 0],
    ['test-request', 0],
    ['run', 0],
    ...steps.filter((step) => step.includes('--limit')).map(() => ['run', 4]),
    ['run', 4],
    ['retry', 0],
  ]);
  expect(await place.read('out.csv')).toBe('id,name\n17,Ada\n18,Bob\n21,Cleo\n');
  expect(Object.keys(JSON.parse(await place.read('run.json')))).toEqual(
    expect.arrayContaining(codesOf('7. ').filter((code) => /^[a-z]+$/.test(code))),
  );
});

test('the command that prints the list of pages works for an installed program', async () => {
  const place = await workplace();
  await mkdir(place.path('bin'));
  await symlink(`${root}bin/automate.js`, place.path('bin/automate'));
  const command = codes.find((code) => code.startsWith('cat ')) ?? '';
  const { stdout } = await shell(place, `unset -f automate; PATH="$PWD/bin:$PATH"; ${command}`);
  expect(stdout).toMatch(/^# automate\n/);
});

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');

/** The YAML blocks that are whole flows, or their nodes alone. */
const flows = [...readme.matchAll(/^```yaml\n(.*?)^```$/gms)]
  .map(([, text = '']) => (/^- type:/.test(text) ? `nodes:\n${text.replace(/^/gm, '  ')}` : text))
  .filter((text) => /^nodes:/m.test(text));

test('README shows flows', () => {
  expect(flows.length).toBeGreaterThan(1);
});

test.each(flows)('flow %# of README is valid', async (flow) => {
  const place = await workplace({ 'flow.yaml': flow });
  const names = [...flow.matchAll(/\bcredential: ([\w-]+)/g)].map(([, name = '']) => name);
  const env = Object.fromEntries(names.map((name) => [`AUTOMATE_CREDENTIAL_${name.toUpperCase().replaceAll('-', '_')}`, 'a-secret']));
  expect(await place.automate(['validate', 'flow.yaml', '--offline'], { env })).toMatchObject({ code: 0 });
});

const groups = ['credentials', 'connections', 'cache', 'credits'];

/** The command after `automate` in code, with its group if it has one. */
const named = [...(readme.match(/^(?: {4}|\$ ).*\bautomate .*/gm) ?? []), ...(readme.match(/`automate [^`\n]*/g) ?? [])]
  .flatMap((code) => [...code.matchAll(/(?<![\w.-])automate ([a-z][a-z-]*)(?: ([a-z]+)\b)?/g)])
  .map(([, first = '', second]) => (groups.includes(first) && second !== undefined ? `${first} ${second}` : first));

/** The commands that a `--help` lists. */
async function commandsOf(place: Workplace, group?: string): Promise<string[]> {
  const { stdout } = await place.automate([...(group === undefined ? [] : [group]), '--help']);
  const [, list = ''] = stdout.split('\nCommands:\n');
  return [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => (group === undefined ? name : `${group} ${name}`));
}

test('every command in README exists', async () => {
  const place = await workplace();
  const known = (await Promise.all([undefined, ...groups].map((group) => commandsOf(place, group)))).flat();
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((command) => !known.includes(command))).toEqual([]);
});

import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTestFile } from '../../src/flow-tests/test-file.ts';
import { workplace } from '../helpers/cli.ts';
import { blocksOf, type Page, proseOf, readPages, root } from './pages.ts';

const pages = await readPages();

test('README contains the two commands that a new clone needs', () => {
  const readme = pages.find(({ path }) => path === 'README.md') as Page;
  expect(readme.text).toMatch(/^\$ npm ci\b/m);
  expect(readme.text).toMatch(/^\$ npm test\b/m);
});

describe('the links in the documentation', () => {
  /** Returns the anchors that GitHub generates for a page's headings. */
  const anchorsOf = (page: Page) =>
    [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
  const targetsOf = (page: Page) => [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);

  test.each(pages)('in $path lead to existing files and headings', async (page) => {
    for (const target of targetsOf(page)) {
      if (/^https?:/.test(target)) continue;
      const [, file = '', anchor] = /^([^#]*)(?:#(.*))?$/.exec(target) ?? [];
      const path = file === '' ? page.path : join(dirname(page.path), file);
      await expect(access(root + path), target).resolves.toBeUndefined();
      const linked = pages.find((other) => other.path === path);
      if (anchor !== undefined) expect(linked && anchorsOf(linked), target).toContain(anchor);
    }
  });

  test('in README lead to every page', () => {
    const [readme, ...others] = [...pages].sort((a, b) => Number(b.path === 'README.md') - Number(a.path === 'README.md'));
    expect(targetsOf(readme as Page).map((target) => target.replace(/#.*/, ''))).toEqual(
      expect.arrayContaining(others.map(({ path }) => path)),
    );
  });
});

describe('the commands and options in the documentation', () => {
  /** Returns the inline code and the command lines of a page. */
  const codeOf = (page: Page) => [
    ...[...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code),
    ...blocksOf(page).flatMap(({ language, lines }) =>
      language === 'console' ? lines.filter((line) => line.startsWith('$ ')).map((line) => line.replace(/ +# .*/, '')) : [],
    ),
  ];

  /** Returns the help of each command, including subcommands. */
  async function readHelp(): Promise<Map<string, string>> {
    const place = await workplace();
    const help = new Map<string, string>();
    const waiting = [''];
    for (const command of waiting) {
      const { stdout } = await place.automate([...command.split(' ').filter(Boolean), '--help']);
      help.set(command, stdout);
      const [, list = ''] = /\nCommands:\n([\s\S]*?)(?:\n\S|$)/.exec(stdout) ?? [];
      for (const [, name = ''] of list.matchAll(/^ {2}([a-z-]+)/gm)) if (name !== 'help') waiting.push(`${command} ${name}`.trim());
    }
    return help;
  }

  test('exist in the program', async () => {
    const help = await readHelp();
    const unknown: string[] = [];
    let checked = 0;
    for (const page of pages) {
      for (const code of codeOf(page)) {
        for (const [, words = '', rest = ''] of code.matchAll(/(?<![\w./-])automate((?: [a-z][a-z-]*)+)([^|&;]*)/g)) {
          const command = longestOf(words.trim().split(' '), help);
          const options = [...rest.matchAll(/(?<= )--[a-z-]+/g)].map(([option]) => option);
          if (command === '') unknown.push(`${page.path}: ${code}`);
          for (const option of options) if (!help.get(command)?.includes(` ${option}`)) unknown.push(`${page.path}: ${command} ${option}`);
          checked++;
        }
      }
    }
    expect(unknown).toEqual([]);
    expect(checked).toBeGreaterThan(60);
  });

  /** Returns the longest command at the beginning of the words. */
  function longestOf(words: readonly string[], help: ReadonlyMap<string, string>): string {
    const [name = ''] = words.map((_, index) => words.slice(0, words.length - index).join(' ')).filter((command) => help.has(command));
    return name;
  }
});

test('every environment variable in the documentation is one that automate reads', async () => {
  const sources = (await readdir(`${root}src`, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const source = (await Promise.all(sources.map((name) => readFile(`${root}src/${name}`, 'utf8')))).join('\n');
  for (const page of pages) {
    for (const [name] of page.text.matchAll(/\bAUTOMATE_[A-Z]+(?:_[A-Z]+)*/g)) {
      if (!name.startsWith('AUTOMATE_CREDENTIAL_')) expect(source, `${page.path}: ${name}`).toContain(name);
    }
  }
});

describe('a flow in the documentation', () => {
  /** The YAML blocks that are not shown as files, such as complete flows, connections or single nodes. */
  const flows = pages.flatMap((page) =>
    blocksOf(page)
      .filter(({ language, file, notRun, lines }) => language === 'yaml' && !file && !notRun && lines[0] !== 'answers:')
      .map(({ line, lines }) => ({ place: `${page.path}:${line}`, flow: wholeFlow(lines.join('\n')) })),
  );

  function wholeFlow(text: string): string {
    const servers = [...text.matchAll(/type: mcp\n {2}connection: (\S+)/g)].map(
      ([, name]) => `  ${name}: { type: mcp, command: server }\n`,
    );
    if (/^- type:/m.test(text)) return `connections:\n${servers.join('') || '  {}\n'}nodes:\n${text.replace(/^/gm, '  ')}\n`;
    return /^nodes:/m.test(text) ? `${text}\n` : `${text}\nnodes: [{ type: set, fields: { a: b } }]\n`;
  }

  test.each(flows)('is valid: $place', async ({ flow }) => {
    const place = await workplace({ 'flow.yaml': flow, 'owners.csv': 'website,owner_name,team\n' });
    expect(await place.automate(['validate', 'flow.yaml', '--offline'])).toMatchObject({ code: 0 });
  });
});

test('CONTRIBUTING gives a reason for each dependency', async () => {
  const [ours, ofData] = await Promise.all(
    ['package.json', '.config/data/package.json'].map(async (name) => JSON.parse(await readFile(root + name, 'utf8'))),
  );
  const packages = [ours.dependencies, ours.devDependencies, ofData.dependencies].flatMap((list) => Object.keys(list));
  const page = pages.find(({ path }) => path === 'CONTRIBUTING.md') as Page;
  const [, section = ''] = page.text.split('\n## Dependencies\n');
  const rows = [...section.matchAll(/^\| ([^|]*[^| ]) +\| [^|]*[a-z]{4}[^|]* \|$/gm)].flatMap(([, names = '']) => names.split(', '));
  expect(rows.sort()).toEqual(packages.sort());
});

describe('a list of `answers` in the documentation', () => {
  /** The YAML blocks that contain only the `answers` option of a flow test. */
  const answers = pages.flatMap((page) =>
    blocksOf(page)
      .filter(({ lines }) => lines[0] === 'answers:')
      .map(({ line, lines }) => ({ place: `${page.path}:${line}`, text: lines.join('\n    ') })),
  );

  test.each(answers)('is valid in a flow test: $place', ({ text }) => {
    const file = `flow: a.yaml\ntests:\n  - name: a\n    record: {}\n    ${text}\n`;
    expect(readTestFile(file, 'a.test.yaml').tests[0]?.answers).toHaveLength(1);
  });
});

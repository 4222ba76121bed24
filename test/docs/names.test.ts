import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { blocksOf, type Page, proseOf, readPages, root } from './pages.ts';

const pages = await readPages();

test('README has at most 150 lines, and names the two commands that a clean clone needs', () => {
  const readme = pages.find(({ path }) => path === 'README.md') as Page;
  expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  expect(readme.text).toMatch(/^\$ npm ci\b/m);
  expect(readme.text).toMatch(/^\$ npm test\b/m);
});

describe('links', () => {
  /** The anchors that GitHub gives the headings of a page. */
  const anchorsOf = (page: Page) =>
    [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
  const targetsOf = (page: Page) => [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);

  test.each(pages)('of $path lead to files and headings that exist', async (page) => {
    for (const target of targetsOf(page)) {
      if (/^https?:/.test(target)) continue;
      const [, file = '', anchor] = /^([^#]*)(?:#(.*))?$/.exec(target) ?? [];
      const path = file === '' ? page.path : join(dirname(page.path), file);
      await expect(access(root + path), target).resolves.toBeUndefined();
      const linked = pages.find((other) => other.path === path);
      if (anchor !== undefined) expect(linked && anchorsOf(linked), target).toContain(anchor);
    }
  });

  test('of README lead to every page', () => {
    const [readme, ...others] = [...pages].sort((a, b) => Number(b.path === 'README.md') - Number(a.path === 'README.md'));
    expect(targetsOf(readme as Page).map((target) => target.replace(/#.*/, ''))).toEqual(
      expect.arrayContaining(others.map(({ path }) => path)),
    );
  });
});

describe('commands and options', () => {
  /** The inline code and the command lines of a page. */
  const codeOf = (page: Page) => [
    ...[...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code),
    ...blocksOf(page).flatMap(({ language, lines }) =>
      language === 'console' ? lines.filter((line) => line.startsWith('$ ')).map((line) => line.replace(/ +# .*/, '')) : [],
    ),
  ];

  /** The help of each command, of which `credits` and the like have others below them. */
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

  test('of all pages exist', async () => {
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

  /** The longest beginning of some words that is a command. */
  function longestOf(words: readonly string[], help: ReadonlyMap<string, string>): string {
    const [name = ''] = words.map((_, index) => words.slice(0, words.length - index).join(' ')).filter((command) => help.has(command));
    return name;
  }
});

test('every variable of the pages is one that the tool knows', async () => {
  const sources = (await readdir(`${root}src`, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const source = (await Promise.all(sources.map((name) => readFile(`${root}src/${name}`, 'utf8')))).join('\n');
  for (const page of pages) {
    for (const [name] of page.text.matchAll(/\bAUTOMATE_[A-Z]+(?:_[A-Z]+)*/g)) {
      if (!name.startsWith('AUTOMATE_CREDENTIAL_')) expect(source, `${page.path}: ${name}`).toContain(name);
    }
  }
});

describe('flows', () => {
  /** The YAML blocks without a file: whole flows, connections, or nodes alone. */
  const flows = pages.flatMap((page) =>
    blocksOf(page)
      .filter(({ language, file, notRun }) => language === 'yaml' && !file && !notRun)
      .map(({ line, lines }) => ({ place: `${page.path}:${line}`, flow: wholeFlow(lines.join('\n')) })),
  );

  function wholeFlow(text: string): string {
    const servers = [...text.matchAll(/type: mcp\n {2}connection: (\S+)/g)].map(
      ([, name]) => `  ${name}: { type: mcp, command: server }\n`,
    );
    if (/^- type:/m.test(text)) return `connections:\n${servers.join('') || '  {}\n'}nodes:\n${text.replace(/^/gm, '  ')}\n`;
    return /^nodes:/m.test(text) ? `${text}\n` : `${text}\nnodes: [{ type: set, fields: { a: b } }]\n`;
  }

  test.each(flows)('of $place is valid', async ({ flow }) => {
    const place = await workplace({ 'flow.yaml': flow });
    expect(await place.automate(['validate', 'flow.yaml', '--offline'])).toMatchObject({ code: 0 });
  });
});

test('CONTRIBUTING gives a reason for each dependency', async () => {
  const { dependencies, devDependencies } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as Record<string, object>;
  const page = pages.find(({ path }) => path === 'CONTRIBUTING.md') as Page;
  const [, section = ''] = page.text.split('\n## Dependencies\n');
  const rows = [...section.matchAll(/^\| ([^|]*[^| ]) +\| [^|]*[a-z]{4}[^|]* \|$/gm)].flatMap(([, names = '']) => names.split(', '));
  expect(rows.sort()).toEqual(Object.keys({ ...dependencies, ...devDependencies }).sort());
});

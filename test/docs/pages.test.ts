import { expect, test } from 'vitest';
import { commands, loadCommand } from '../../src/cli/commands.ts';
import { flowReference } from './flow-reference.ts';
import { manPage } from './man-page.ts';
import { blocksOf, proseOf, readPages, root } from './pages.ts';
import { isAlike } from './run-page.ts';

const pages = await readPages();

test('the documentation has only a few code blocks that are not run, each with a reason', () => {
  const blocks = pages.flatMap((page) => blocksOf(page).map((block) => ({ ...block, path: page.path })));
  const unknown = blocks.filter(({ language, file, notRun }) => !(notRun || file || ['console', 'yaml'].includes(language)));
  expect(unknown.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  expect(blocks.filter(({ notRun }) => notRun !== undefined).length).toBeLessThan(18);
});

test("a code block that shows a file is preceded by the file's name", () => {
  for (const page of pages) {
    for (const block of blocksOf(page)) {
      if (block.file) expect(proseOf(page, block), `${page.path}:${block.line}`).toContain(`\`${block.file}\``);
    }
  }
});

test('the check of outputs ignores durations, rates, dates and ports, and "..." stands for any lines', () => {
  expect(isAlike('done: 2 written in 0.3 s (7/s)\n...\nend', 'done: 2 written in 1 min 2 s (1,200/s)\na\nb\nend')).toBe(true);
  expect(isAlike('...\nend', 'end')).toBe(true);
  expect(isAlike('done: 2 written', 'done: 3 written')).toBe(false);
  expect(isAlike('end', 'a\nend')).toBe(false);
});

test('docs/flow-reference.md contains every option in src (npm test -- test/docs -u rewrites the page)', async () => {
  await expect(flowReference()).toMatchFileSnapshot(`${root}docs/flow-reference.md`);
});

test('docs/flow-reference.md explains every option, and contains its default only in the column for defaults', () => {
  const rows = flowReference().matchAll(/^\| (`.*) \|$/gm);
  const meanings = [...rows].map(([, row = '']) => row.split(' | ')).map(([name, , , meaning]) => [name, meaning]);
  expect(meanings.length).toBeGreaterThan(150);
  expect(
    meanings.filter(([, meaning = '']) => meaning === '' || /\bdefaults?\b/.test(meaning.replace('a mapping with default', ''))),
  ).toEqual([]);
});

test('the manual page contains every command and option (npm test -- test/docs -u rewrites the page)', async () => {
  await expect(manPage(await Promise.all(commands.map(loadCommand)))).toMatchFileSnapshot(`${root}docs/automate.1`);
});

import { expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { flowReference } from './flow-reference.ts';
import { manPage } from './man-page.ts';
import { blocksOf, proseOf, readPages, root } from './pages.ts';
import { isAlike } from './run-page.ts';

const pages = await readPages();

test('the blocks that are not run are few, and say why', () => {
  const blocks = pages.flatMap((page) => blocksOf(page).map((block) => ({ ...block, path: page.path })));
  const unknown = blocks.filter(({ language, file, notRun }) => !(notRun || file || ['console', 'yaml'].includes(language)));
  expect(unknown.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  expect(blocks.filter(({ notRun }) => notRun !== undefined).length).toBeLessThan(16);
});

test('the text before the block of a file names it', () => {
  for (const page of pages) {
    for (const block of blocksOf(page)) {
      if (block.file) expect(proseOf(page, block), `${page.path}:${block.line}`).toContain(`\`${block.file}\``);
    }
  }
});

test('outputs are compared but for times, rates, dates and ports; a line ... stands for any lines', () => {
  expect(isAlike('done: 2 written in 0.3 s (7/s)\n...\nend', 'done: 2 written in 1 min 2 s (1,200/s)\na\nb\nend')).toBe(true);
  expect(isAlike('...\nend', 'end')).toBe(true);
  expect(isAlike('done: 2 written', 'done: 3 written')).toBe(false);
  expect(isAlike('end', 'a\nend')).toBe(false);
});

test('docs/flow-reference.md has every option of the tables in src (npm test -- test/docs -u writes it anew)', async () => {
  await expect(flowReference()).toMatchFileSnapshot(`${root}docs/flow-reference.md`);
});

test('the manual page has every command and option (npm test -- test/docs -u writes it anew)', async () => {
  await expect(manPage(commands)).toMatchFileSnapshot(`${root}docs/automate.1`);
});

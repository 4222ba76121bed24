import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunView } from '../../src/report/run-view.ts';
import type { reportHtml } from '../../src/ui/report.tsx';
import { axeProblems, hasBrowser, openPage, schemes, unlessBrowser, widths } from '../helpers/browser.ts';
import { emptyView, fullView } from './run-views.ts';

/** Writes a report to a file, with the styles from the build. Returns the file's URL. */
async function fileOf(view: RunView): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-report-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { reportHtml: built } = (await import('../../dist/report.cjs' as string)) as { reportHtml: typeof reportHtml };
  await writeFile(join(folder, 'run.html'), built(view, '1.2.3'));
  return `file://${join(folder, 'run.html')}`;
}

describe.skipIf(!hasBrowser)(`a run's HTML report in a browser${unlessBrowser}`, () => {
  test.each(schemes)('passes all axe-core accessibility checks in the color scheme %s', async (scheme) => {
    for (const view of [fullView, emptyView]) {
      const page = await openPage(await fileOf(view), { scheme });
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      expect(await axeProblems(page)).toEqual([]);
      expect(page.said).toEqual([]);
    }
  });

  test.each(widths)('fits into a window with a width of %i px', async (width) => {
    const page = await openPage(await fileOf(fullView), { width });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  });

  test('is readable without JavaScript, and the keyboard can open and scroll its tables', async () => {
    const page = await openPage(await fileOf(fullView), { width: 320 });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.locator('details').first().getAttribute('open')).toBe('');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Records per second over time');
  });
});

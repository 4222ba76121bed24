import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

/** True if a browser is installed. */
export const hasBrowser = executablePath !== undefined;

/** Suffix for the titles of tests that need a browser, with the reason why they are skipped. */
export const unlessBrowser = hasBrowser ? '' : ' (skipped: chromium is not installed)';

/** The color schemes in which pages are tested. */
export const schemes = ['light', 'dark'] as const;
export const widths = [320, 800, 1440] as const;

/** The width and color scheme in which a page is opened. */
export interface Look {
  readonly width?: number;
  readonly scheme?: (typeof schemes)[number];
}

let starting: Promise<Browser> | undefined;

/**
 * Opens a page in a browser that all tests of a file share, and that is closed after them. `said` collects the console messages
 * of the page.
 */
export async function openPage(url: string, { width = 1280, scheme = 'light' }: Look = {}): Promise<Page & { readonly said: string[] }> {
  starting ??= chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  const context = await (await starting).newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(error.message));
  await page.goto(url);
  return Object.assign(page, { said });
}

afterAll(async () => {
  await (await starting)?.close();
  starting = undefined;
});

/** Returns the problems that axe-core finds in a page, each with the affected elements. `rules`: the only rules to check. */
export async function axeProblems(page: Page, rules?: string[]): Promise<string[]> {
  // The script is evaluated directly, because the content security policy of the page would block a script element.
  await page.evaluate(axe.source);
  const options: axe.RunOptions = rules ? { runOnly: rules } : {};
  const { violations } = await page.evaluate((given) => (globalThis as unknown as { axe: typeof axe }).axe.run(given), options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

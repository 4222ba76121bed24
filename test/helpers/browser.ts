import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll } from 'vitest';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

/** True if a browser is installed. */
export const hasBrowser = executablePath !== undefined;

/** Ends the title of a test that needs one. */
export const unlessBrowser = hasBrowser ? '' : ' (skipped: chromium is not installed)';

/** The schemes and widths in which pages are looked at. */
export const schemes = ['light', 'dark'] as const;
export const widths = [320, 800, 1440] as const;

/** A look at a page. */
export interface Look {
  readonly width?: number;
  readonly scheme?: (typeof schemes)[number];
}

let starting: Promise<Browser> | undefined;

/** Opens a page in a browser that all tests of a file share. It is closed after them. Collects what the page says on its console. */
export async function openPage(url: string, { width = 1280, scheme = 'light' }: Look = {}): Promise<Page & { readonly said: string[] }> {
  starting ??= chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  const context = await (await starting).newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
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

/** The problems that axe-core finds in a page, each with the elements that have it. */
export async function axeProblems(page: Page): Promise<string[]> {
  // A policy of the page would refuse a script element.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

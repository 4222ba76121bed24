import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeProblems, hasBrowser, type Look, openPage, unlessBrowser, widths } from '../helpers/browser.ts';
import { livingView, type PageServer, pageServer } from '../helpers/page-server.ts';
import { emptyPageData, pageData, runs } from './page-data.ts';

const [running, stopped, finished] = runs.map(({ id }) => `/runs/${id}`) as [string, string, string];

/** The pages, each with a text that appears when the page has loaded. */
const pages = [
  ['/', 'Geocode the sites'],
  ['/flows/enrich-customers', 'needs the fields'],
  ['/flows/enrich-customers/test', 'Only show it, send nothing'],
  ['/runs', 'Show older runs'],
  [running, 'Response times'],
  [stopped, 'no credits are left of the allowance'],
  ['/integrations', 'Your Platforms'],
  ['/settings/keys', 'crm-sync'],
  ['/settings/billing', 'Credits by day'],
  ['/settings/audit', 'key-invalid, 14 times'],
  ['/docs', 'One record in, its records out'],
  ['/nowhere', 'There is no page'],
] as const;

/** The pages of an unused server, each with the advice that it shows. */
const emptyPages = [
  ['/', 'automate init'],
  ['/runs', 'No run yet'],
  ['/integrations', 'automate connections add'],
  ['/settings/keys', 'automate keys create'],
  ['/settings/billing', 'No credit was spent this month.'],
  ['/settings/audit', 'Nothing has happened yet.'],
] as const;

/** Logs in and opens a page of the server. */
async function opened(server: PageServer, path: string, look: Look = {}) {
  const page = await openPage(server.link, look);
  await page.waitForSelector('nav');
  if (path !== '/') await page.goto(server.origin + path);
  await page.waitForSelector('h1');
  return page;
}

const shows = (page: Page, text: string) => page.getByText(text).first().waitFor();

const auditRow = { time: new Date().toISOString(), who: 'crm-sync', address: '127.0.0.1', outcome: 'ok' };

/** Returns the axe-core problems of a page in the dark color scheme, which differs from the light one only in its colors. */
async function contrastProblems(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'dark' });
  const problems = await axeProblems(page, ['color-contrast']);
  await page.emulateMedia({ colorScheme: 'light' });
  return problems;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test("the page's script and style sheet have at most 150 KB in total", () => {
  const size = (name: string) => statSync(fileURLToPath(new URL(`../../dist/ui/${name}`, import.meta.url))).size;
  expect(size('page.js') + size('page.css') + size('index.html')).toBeLessThan(150_000);
});

describe.skipIf(!hasBrowser)(`the web page in a browser${unlessBrowser}`, () => {
  test.each([
    ['a used server', pageData(), pages],
    ['an unused server', emptyPageData(), emptyPages],
  ] as const)(
    `passes all axe-core accessibility checks, and fits into windows with a width of ${widths.join(', ')} px, with %s`,
    async (_, data, all) => {
      const server = await pageServer(data);
      const page = await opened(server, '/');
      for (const [path, text] of all) {
        await page.goto(server.origin + path);
        await shows(page, text);
        expect([path, ...(await axeProblems(page))]).toEqual([path]);
        expect([path, ...(await contrastProblems(page))]).toEqual([path]);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          expect([path, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([path, width]);
        }
      }
      // If the content security policy had blocked a file, the console would list that file.
      expect(page.said.filter((line) => !line.includes('404'))).toEqual([]);
    },
  );

  test('logs the user in with a link, and removes the token from the address', async () => {
    const server = await pageServer();
    const page = await opened(server, '/');
    expect(page.url()).toBe(`${server.origin}/`);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).toBe('{"automate-page-token":"page-token"}');
    await page.goBack();
    expect(page.url()).not.toContain('secret-link');
  });

  test('explains how to log in if the link was already used or the session has ended', async () => {
    const server = await pageServer();
    const used = await openPage(server.link.replace('secret-link', 'used'));
    await shows(used, 'the link was used, or has expired');
    await shows(used, 'automate serve login');
    expect(await axeProblems(used)).toEqual([]);
    const page = await opened(server, '/runs');
    server.endSessions();
    await shows(page, 'automate serve login');
    expect(new URL(page.url()).pathname).toBe('/login');
  });

  test('can be navigated with the keyboard, and moves the focus to each new title', async () => {
    const server = await pageServer();
    const page = await opened(server, '/');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs$/);
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    expect(await page.title()).toBe('Runs · automate');
    await page.goBack();
    await page.waitForFunction(() => document.title === 'Flows · automate');
  });

  test('shows the plan of a run before the user starts it', async () => {
    const server = await pageServer();
    const page = await opened(server, '/flows/enrich-customers');
    await button(page, 'Run').click();
    expect(await button(page, 'Plan').isDisabled()).toBe(true);
    await page.getByLabel('File of records').setInputFiles({ name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from('id\n1\n') });
    await shows(page, 'Run 3 records');
    expect(server.changes.map(({ route }) => route)).toEqual(['POST /flows/enrich-customers/plans']);
    expect(await axeProblems(page)).toEqual([]);
    await button(page, 'Run 3 records').press('Enter');
    await page.waitForURL(/\/runs\/run_/);
    expect(server.changes[1]?.route).toBe('POST /flows/enrich-customers/runs');
  });

  test('starts a run over a pasted table, and a flow without records', async () => {
    const flow = { ...(pageData()['/flows/enrich-customers'] as object), fields: [] };
    const server = await pageServer({ '/flows/geocode-sites': flow });
    const page = await opened(server, '/flows/enrich-customers');
    await button(page, 'Run').click();
    await page.getByLabel('from a table that you paste').check();
    expect(await button(page, 'Plan').isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Table' }).fill('id\temail\n1\ta@example.com\n');
    expect(await axeProblems(page)).toEqual([]);
    await button(page, 'Plan').click();
    await button(page, 'Run 3 records').click();
    await page.waitForURL(/\/runs\/run_/);
    const sent = { type: 'text/tab-separated-values', text: 'id\temail\n1\ta@example.com\n' };
    expect(server.changes).toMatchObject([
      { route: 'POST /flows/enrich-customers/plans', upload: { ...sent, query: '' } },
      { route: 'POST /flows/enrich-customers/runs', upload: { ...sent, query: '?out=csv' } },
    ]);
    await page.goto(`${server.origin}/flows/geocode-sites`);
    await button(page, 'Run').click();
    await button(page, 'Run once').click();
    await page.waitForURL(/\/runs\/run_/);
    expect(server.changes.at(-1)?.upload).toEqual({ query: '?out=csv', type: 'application/x-ndjson', text: '{}\n' });
  });

  test("shows a flow's text, and the method and URL of its nodes", async () => {
    const server = await pageServer();
    const page = await opened(server, '/flows/enrich-customers');
    await page.getByRole('region', { name: 'Nodes' }).getByText('GET https://api.crm.example.com/v2/users/{{id}}').waitFor();
    await page.getByRole('region', { name: 'Text of the flow' }).getByText('url: /users/{{id}}').waitFor();
    await page.getByText('Nodes and tools').click();
    await page.getByRole('button', { name: /^set/ }).click();
    await shows(page, 'fields: { country: de }');
    expect(await axeProblems(page)).toEqual([]);
  });

  test('lets the user build a map with the keyboard, and shows its YAML and fields immediately', async () => {
    const server = await pageServer();
    const page = await opened(server, '/flows/enrich-customers/test');
    await page.getByLabel('id', { exact: true }).fill('17');
    await page.keyboard.press('Enter');
    await shows(page, 'Authorization: Bearer ***');
    expect(server.changes).toEqual([
      { route: 'POST /flows/enrich-customers/tests', json: { record: { id: '17', email: '' }, send: true } },
    ]);
    await button(page, 'data.user.plan.name').press('Enter');
    await button(page, 'orders[].sku').press('Enter');
    await shows(page, 'map: name: data.user.name name_2: data.user.plan.name sku: orders[].sku');
    expect(await page.getByRole('region', { name: 'Rows that the map makes' }).locator('td').allInnerTexts()).toEqual([
      ...['Ada', 'pro', 'A1'],
      ...['Ada', 'pro', 'B2'],
    ]);
    await page.getByLabel('Field for data.user.plan.name').fill('plan');
    await button(page, 'data.user.name').press('Enter');
    const map = { plan: 'data.user.plan.name', sku: 'orders[].sku' };
    const { nodes, ...text } = server.data['/flows/enrich-customers/text'] as { readonly nodes: readonly object[] };
    server.data['/flows/enrich-customers/text'] = { ...text, etag: '"def"', nodes: [{ ...nodes[0], map }] };
    await button(page, 'Save to enrich-customers.yaml').click();
    // The record and its answer stay, so that the user can go on.
    await button(page, 'As in the file').waitFor();
    expect(await page.getByLabel('id', { exact: true }).inputValue()).toBe('17');
    expect(server.changes.at(-1)).toEqual({
      route: 'PUT /flows/enrich-customers/nodes/profile/map',
      json: { map },
    });
  });

  test('shows the progress of a run, and can stop it', async () => {
    const server = await pageServer({ [`${running}/view`]: livingView });
    const page = await opened(server, running);
    await shows(page, '3,883 written');
    const progress = {
      ...{ read: 5000, written: 4990, failed: 10, retries: 3, credits: 5000, records_per_second: 90 },
      share: 0.5,
      eta_s: 60,
      paused: [],
      workers: null,
    };
    const emitted = () => {
      server.emit('progress', progress);
      return page.getByText('about 1 min left').isVisible();
    };
    await expect.poll(emitted).toBe(true);
    // The counts are from the same moment as the figures in the other panels.
    await shows(page, '3,883 written');
    server.data[`${running}/view`] = { ...livingView, counts: { ...livingView.counts, written: 4990 } };
    await shows(page, '4,990 written');
    await button(page, 'Stop').click();
    await expect.poll(() => server.changes.at(-1)?.route).toBe(`POST ${running}/stop`);
    server.data[running] = { ...runs[0], state: 'finished' };
    server.emit('end', server.data[running]);
    await button(page, 'Output').waitFor();
  });

  test('shows the rows of a run, marks failed ones, and opens a row with a click or the keyboard', async () => {
    const path = `${running}/rows`;
    const markup = '<img src=x onerror="document.title=1">';
    const server = await pageServer({
      [`${path}/10`]: { columns: ['id', 'name', 'note'], failed: false, cells: ['17', markup, 'x'.repeat(5000)] },
      [`${path}/10?of=errors`]: { columns: ['id', '_error_message'], failed: true, cells: ['19', 'the whole\nmessage'] },
    });
    const page = await opened(server, running, { width: 390 });
    const output = page.getByRole('region', { name: 'Rows: Output' });
    await output.getByText('6,221 more rows').waitFor();
    expect(await output.locator('tbody tr').allInnerTexts()).toEqual([
      ...['1\t17\tAda\tpro', '2\t18\tGrace\tfree', '6,221 more rows', '6,224\t90\tEdsger\tpro'],
    ]);
    const errors = page.getByRole('region', { name: 'Rows: Failed records' });
    expect(await errors.locator('tbody tr').allInnerTexts()).toEqual(['1 failed\tno such user\t19\tprofile\t3']);
    expect([...(await axeProblems(page)), ...(await contrastProblems(page))]).toEqual([]);
    await output.getByText('Ada').click();
    const dialog = page.getByRole('dialog', { name: 'Row 1 of output' });
    await dialog.getByText(markup).waitFor();
    expect([...(await axeProblems(page)), ...(await contrastProblems(page))]).toEqual([]);
    await dialog.getByRole('button', { name: 'Show all 5,000 characters' }).press('Enter');
    await dialog.getByText('x'.repeat(5000)).waitFor();
    await page.keyboard.press('Escape');
    await errors.getByRole('button', { name: 'Show row 1' }).press('Enter');
    await page.getByRole('dialog', { name: 'Row 1 of failed records' }).getByText('the whole').waitFor();
    expect(await page.locator('img').count()).toBe(0);
  });

  test('shows hostile and wide rows as text, within the width of a phone', async () => {
    const wide = Array.from({ length: 500 }, (_, index) => `column ${index}`);
    const hostile = ['<script>alert(1)</script>', '=1+1', '\u202egpj.exe', '\u0645\u0631\u062d\u0628\u0627', `${'y'.repeat(200)}…`];
    const cells = wide.map((_, index) => hostile[index] ?? `${index}`);
    const rows = {
      columns: wide,
      total: 2,
      first: [
        { at: 0, row: 1, failed: false, cells },
        { at: 9, row: 2, failed: false, cells: null },
      ],
      last: [],
    };
    const server = await pageServer({ [`${finished}/rows`]: rows });
    const page = await opened(server, finished, { width: 390 });
    await shows(page, 'too long to be shown');
    const shown = await page.getByRole('region', { name: 'Rows: Output' }).locator('tbody tr').first().locator('td').allInnerTexts();
    expect(shown.slice(1, 6)).toEqual([...hostile.slice(0, 2), '\\u202egpj.exe', ...hostile.slice(3)]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await button(page, 'Show all 500 columns').click();
    await shows(page, 'column 499');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(await axeProblems(page)).toEqual([]);
  });

  test('shows a flow under one name, also where the server knows its id', async () => {
    const server = await pageServer({
      '/audit': { entries: [{ ...auditRow, what: 'flow.call', on: 'geocode-sites' }], next_cursor: null },
    });
    const page = await opened(server, '/');
    for (const path of ['/', '/runs', '/runs/run_0193f2c1-7e4b-7c55-9d1f-000000000040', '/settings/keys', '/settings/audit']) {
      await page.goto(server.origin + path);
      await page.locator('h1, td').filter({ hasText: 'Geocode the sites' }).first().waitFor();
      expect([path, await page.getByText('geocode-sites').count()]).toEqual([path, 0]);
    }
  });

  test('can resume, retry and delete runs', async () => {
    const server = await pageServer({ [`POST ${finished}/retry`]: runs[0] });
    server.data[finished] = { ...runs[2], counts: { ...runs[2]?.counts, failed: 2 } };
    const page = await opened(server, stopped);
    await button(page, 'Resume').click();
    await expect.poll(() => server.changes.at(-1)?.route).toBe(`POST ${stopped}/resume`);
    await page.goto(server.origin + finished);
    await button(page, 'Retry failed').click();
    await page.waitForURL(server.origin + running);
    await page.goto(server.origin + finished);
    await button(page, 'Delete').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/runs$/);
    expect(server.changes.at(-1)?.route).toBe(`DELETE ${finished}`);
  });

  test('shows the value of a new API key only once', async () => {
    const server = await pageServer();
    const page = await opened(server, '/settings/keys');
    await button(page, 'Create a key').click();
    await page.getByLabel('Name').fill('nightly');
    await page.getByLabel('read: all runs').check();
    await page.getByLabel('Credits a month').fill('500');
    expect(await axeProblems(page)).toEqual([]);
    await button(page, 'Create').click();
    await shows(page, `amk_${'x'.repeat(49)}`);
    expect(server.changes.at(-1)).toEqual({
      route: 'POST /keys',
      json: { name: 'nightly', rate: '600/min', scopes: ['run', 'read'], expires: '90d', credits: 500 },
    });
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.goBack();
    await shows(page, 'crm-sync');
    expect(await page.content()).not.toContain('xxxx');
  });

  test("can change an API key's limits, and sends only the changed values", async () => {
    const server = await pageServer();
    const page = await opened(server, '/settings/keys');
    await button(page, 'Change crm-sync').click();
    const change = page.getByRole('dialog').getByRole('button', { name: 'Change' });
    expect(await change.isDisabled()).toBe(true);
    expect(await page.getByLabel('Credits a month').inputValue()).toBe('15000');
    await page.getByLabel('Credits a month').fill('');
    await page.getByLabel('Expires').selectOption('never');
    await page.getByRole('dialog').getByLabel('Geocode the sites').check();
    expect(await axeProblems(page)).toEqual([]);
    await change.click();
    const json = { credits: null, expires: null, flows: ['geocode-sites'] };
    await expect.poll(() => server.changes.at(-1)).toEqual({ route: 'PATCH /keys/key_1', json });
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('revokes an API key only after the user has typed its name', async () => {
    const server = await pageServer();
    const page = await opened(server, '/settings/keys');
    await button(page, 'Revoke crm-sync').click();
    const revoke = page.getByRole('dialog').getByRole('button', { name: 'Revoke' });
    await page.getByLabel('Type the name').fill('crm');
    expect(await revoke.isDisabled()).toBe(true);
    await page.getByLabel('Type the name').fill('crm-sync');
    await revoke.click();
    await expect.poll(() => server.changes.at(-1)).toEqual({ route: 'POST /keys/key_1/revoke', json: { stop_runs: false } });
    await button(page, 'Rotate crm-sync').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await shows(page, `amk_${'y'.repeat(49)}`);
  });

  test('does not save a connection if its test fails, and says what to check', async () => {
    const server = await pageServer();
    const page = await opened(server, '/integrations');
    await button(page, 'Add a platform').click();
    await page.getByLabel('Name', { exact: true }).fill('erp');
    await page.getByLabel('Server URL').fill('https://erp.example.com');
    await page.getByLabel('Authentication').selectOption('bearer');
    await page.getByLabel('Secret', { exact: true }).fill('s3cret-value');
    expect(await axeProblems(page)).toEqual([]);
    await button(page, 'Test and save').click();
    await shows(page, 'outbound firewall rules');
    const json = {
      type: 'http',
      name: 'erp',
      url: 'https://erp.example.com',
      auth: { type: 'bearer', credential: 'erp-secret' },
      secret: 's3cret-value',
    };
    expect(server.changes).toEqual([{ route: 'POST /connections/tests', json }]);
    await page.getByLabel('Test connection before saving').uncheck();
    await button(page, 'Save').click();
    await expect.poll(() => server.changes.at(-1)).toEqual({ route: 'POST /connections', json });
  });

  test('can set the monthly allowance', async () => {
    const server = await pageServer();
    const page = await opened(server, '/settings/billing');
    await button(page, 'Set the allowance').click();
    await page.getByLabel('Credits a month').fill('30000');
    await page.keyboard.press('Enter');
    await expect.poll(() => server.changes.at(-1)).toEqual({ route: 'PUT /billing/allowance', json: { credits: 30_000 } });
  });

  test('keeps its content while it shows a problem of the server', async () => {
    const server = await pageServer({ [`POST ${stopped}/resume`]: { status: 422 } });
    const page = await opened(server, stopped);
    await button(page, 'Resume').click();
    await page.getByRole('alert').getByText('refused').waitFor();
    await shows(page, 'no credits are left of the allowance');
  });

  test('waits for an answer that takes longer than the time between two loads', async () => {
    const server = await pageServer(pageData());
    const page = await opened(server, '/');
    const held: (() => void)[] = [];
    await page.route(/\/runs\?limit/, (route) => void held.push(() => void route.continue()));
    await page.clock.install();
    await page.getByRole('link', { name: 'Runs' }).click();
    await expect.poll(() => held.length).toBe(1);
    await page.clock.runFor(10_000);
    expect(held.length).toBe(1);
    held[0]?.();
    await shows(page, 'Show older runs');
  });

  test('escapes HTML markup from flows, servers and records', async () => {
    const markup = '<img src=x onerror="document.title=1">';
    const changed = JSON.parse(JSON.stringify(pageData()).replaceAll('no such user', '<img src=x>')) as ReturnType<typeof pageData>;
    const flow = { ...(changed['/flows/enrich-customers'] as object), name: markup };
    const server = await pageServer({ ...changed, '/flows': { flows: [flow] } });
    const page = await opened(server, '/');
    await page.getByRole('link', { name: markup }).waitFor();
    await page.goto(server.origin + running);
    await shows(page, 'the server answered 404: <img src=x>');
    expect(await page.locator('img').count()).toBe(0);
  });
});

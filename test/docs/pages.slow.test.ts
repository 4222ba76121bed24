import { expect, onTestFinished, test } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { createDemoApi } from '../../src/io/demo/api.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { workplace } from '../helpers/cli.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { exampleApi } from './example-api.ts';
import { flowReference } from './flow-reference.ts';
import { manPage } from './man-page.ts';
import { blocksOf, proseOf, readPages, root } from './pages.ts';
import { isAlike, runPage } from './run-page.ts';

const pages = await readPages();
const certificates = makeCertificates();

/** Servers for the hosts that the pages name, reached through a proxy: the pages are run as they stand. */
async function hosts(): Promise<Record<string, string>> {
  const demo = await createDemoApi();
  onTestFinished(demo.close);
  const example = await answeringServer(exampleApi(), certificates.good);
  const { url } = await proxyServer((host) => (host.startsWith('127.0.0.1') ? Number(new URL(demo.origin).port) : example.port));
  return { HTTP_PROXY: url, HTTPS_PROXY: url, NODE_EXTRA_CA_CERTS: certificates.authority };
}

const vault = { AUTOMATE_VAULT_PASSPHRASE: 'correct horse battery staple' };

// A difference is shown as that of a snapshot. With -u vitest writes the real outputs into the page: read them before you commit them.
test.for(pages)('the commands in $path print what it shows (npm test -- test/docs -u writes it anew)', async (page) => {
  const real = await runPage(page, await workplace(), { ...(await hosts()), ...vault });
  await expect(real).toMatchFileSnapshot(root + page.path);
});

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

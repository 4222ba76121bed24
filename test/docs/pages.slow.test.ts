import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { answer } from '../../examples/servers/answers.mjs';
import { createDemoApi } from '../../src/cli/demo-api.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { lightVault, passphrase } from '../helpers/light-vault.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { exampleApi } from './example-api.ts';
import { readPages, root } from './pages.ts';
import { isAlike, runPage } from './run-page.ts';

const pages = await readPages();
const certificates = makeCertificates();
const mappedPorts = fileURLToPath(new URL('../helpers/mapped-ports.cjs', import.meta.url));

/** Starts servers for the hosts and ports on the pages, and a proxy that leads to the hosts. The pages can then be run unchanged. */
async function hosts(): Promise<Record<string, string>> {
  const demo = await createDemoApi();
  onTestFinished(demo.close);
  const example = await answeringServer(exampleApi(), certificates.good);
  const foreign = await answeringServer(answer);
  const { url } = await proxyServer(example.port);
  // Requests to this machine use no proxy.
  const ports = { 4010: Number(new URL(demo.origin).port), 4012: foreign.port };
  return {
    ...{ HTTP_PROXY: url, HTTPS_PROXY: url, NODE_EXTRA_CA_CERTS: certificates.authority },
    ...{ NODE_OPTIONS: `--require ${mappedPorts}`, TEST_PORTS: JSON.stringify(ports) },
  };
}

const vault = { AUTOMATE_VAULT_PASSPHRASE: passphrase };

/** Creates a workplace whose vault can be opened quickly, also by the server of a page. */
async function vaultPlace(): Promise<Workplace> {
  const place = await workplace();
  for (const home of ['.automate', '.config/automate']) {
    await mkdir(place.path(home), { recursive: true });
    await place.write(`${home}/vault.json`, JSON.stringify(lightVault()));
  }
  return place;
}

// A difference is shown as in a snapshot test. With -u, vitest writes the real outputs into the page; review these before you commit.
test.for(pages)(
  'the commands in $path print the output that the page shows (npm run test:slow -- test/docs -u rewrites it)',
  async (page) => {
    const real = await runPage(page, await vaultPlace(), { ...(await hosts()), ...vault });
    await expect(real).toMatchFileSnapshot(root + page.path);
  },
);

test('the picture in README shows what a run prints (npm run picture draws it again)', async () => {
  const place = await workplace();
  await promisify(execFile)(process.execPath, [`${root}.config/picture.mjs`, place.path('run.svg')]);
  const [shown, drawn] = [await readFile(`${root}docs/images/run.svg`, 'utf8'), await place.read('run.svg')].map((svg) =>
    [...svg.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, line]) => line).join('\n'),
  );
  expect(shown).toContain('automate retry positions.csv');
  expect(isAlike(shown ?? '', drawn ?? ''), drawn).toBe(true);
});

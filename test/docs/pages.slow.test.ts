import { expect, onTestFinished, test } from 'vitest';
import { answer } from '../../examples/servers/answers.mjs';
import { createDemoApi } from '../../src/io/demo/api.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { workplace } from '../helpers/cli.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { exampleApi } from './example-api.ts';
import { readPages, root } from './pages.ts';
import { runPage } from './run-page.ts';

const pages = await readPages();
const certificates = makeCertificates();

/** Servers for the hosts that the pages name, reached through a proxy: the pages are run as they stand. */
async function hosts(): Promise<Record<string, string>> {
  const demo = await createDemoApi();
  onTestFinished(demo.close);
  const example = await answeringServer(exampleApi(), certificates.good);
  const foreign = await answeringServer(answer);
  const ports: Readonly<Record<string, number>> = { '127.0.0.1:4010': Number(new URL(demo.origin).port), '127.0.0.1:4012': foreign.port };
  const { url } = await proxyServer((host) => ports[host] ?? example.port);
  return { HTTP_PROXY: url, HTTPS_PROXY: url, NODE_EXTRA_CA_CERTS: certificates.authority };
}

const vault = { AUTOMATE_VAULT_PASSPHRASE: 'correct horse battery staple' };

// A difference is shown as that of a snapshot. With -u vitest writes the real outputs into the page: read them before you commit them.
test.for(pages)('the commands in $path print what it shows (npm run test:slow -- test/docs -u writes it anew)', async (page) => {
  const real = await runPage(page, await workplace(), { ...(await hosts()), ...vault });
  await expect(real).toMatchFileSnapshot(root + page.path);
});

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { askingFlow, idRows } from '../helpers/asking.ts';
import { runThat, startRunOf } from '../helpers/served-runs.ts';
import { type Serving, serving } from '../helpers/serving.ts';

/** Returns the peak of the server's resident memory in MB. */
function peakOf({ place }: Serving): number {
  const { pid } = JSON.parse(readFileSync(place.path('.automate/serve.lock'), 'utf8')) as { pid: number };
  const [, kB] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kB) / 1000;
}

test('automate serve needs less than 200 MB for a run over 60,000 records', async () => {
  // This server keeps no record of its requests, because that would take memory and time.
  const upstream = createServer((_, response) => void response.end('{"name":"n"}')).listen(0, '127.0.0.1');
  onTestFinished(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  await new Promise((resolve) => upstream.once('listening', resolve));
  const { port } = upstream.address() as AddressInfo;
  const server = await serving({ ask: askingFlow(`http://127.0.0.1:${port}`, ', concurrency: 32') });
  const key = server.key({ rate: '100000/min' });
  const run = await startRunOf(server, key, idRows(60_000));
  await runThat(server, key, run, ({ state }) => state === 'finished');
  expect(peakOf(server)).toBeLessThan(200);
});

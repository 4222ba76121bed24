import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';

const records = 40;
const size = 300_000;

/** Starts a server that sends a large response for each record in two halves. `half` is called after each first half. */
async function slowFiles(half: (count: number) => void) {
  let halves = 0;
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': String(size) });
    response.write(Buffer.alloc(size / 2, 'a'));
    half(++halves);
    setTimeout(() => response.end(Buffer.alloc(size / 2, 'b')), 15);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const whole = Buffer.concat([Buffer.alloc(size / 2, 'a'), Buffer.alloc(size / 2, 'b')]).toString();

async function filesIn(place: Workplace) {
  const names = await readdir(place.path('f')).catch(() => []);
  return { saved: names.filter((name) => !name.startsWith('.')), parts: names.filter((name) => name.startsWith('.')) };
}

describe('a run that saves files and is killed with SIGKILL', () => {
  test('leaves no partial file under a final name, and --resume saves each file once', async () => {
    let kill = (_count: number) => {};
    const origin = await slowFiles((count) => kill(count));
    const place = await workplace({
      'flow.yaml': `nodes:\n  - { type: http, url: "${origin}/{{id}}", concurrency: 4, save: { to: "f/{{id}}.bin" } }\n`,
      'in.csv': `id\n${Array.from({ length: records }, (_, index) => `${index}\n`).join('')}`,
    });
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--resume'];
    for (const after of [3, 12, 9, 1]) {
      let seen = 0;
      const { child, finished } = place.start(args);
      kill = () => {
        if (++seen === after) child.kill('SIGKILL');
      };
      expect((await finished).code).toBeNull();
      for (const name of (await filesIn(place)).saved) expect((await place.read(`f/${name}`)) === whole).toBe(true);
    }
    kill = () => {};
    const { code, stderr } = await place.start(args).finished;
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { saved, parts } = await filesIn(place);
    expect(parts).toEqual([]);
    expect(saved).toHaveLength(records);
    for (const name of saved) expect((await place.read(`f/${name}`)) === whole).toBe(true);
    expect((await place.read('out.csv')).split('\n')).toHaveLength(records + 2);
    expect(await place.files()).toEqual(['f', 'flow.yaml', 'in.csv', 'out.csv', 'out.csv.automate']);
  });
});

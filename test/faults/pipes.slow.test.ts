import { existsSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { shell } from '../helpers/shell.ts';

const flow = 'nodes:\n  - type: set\n    fields: { ok: "1" }\n';

async function placeWithPipe(): Promise<Workplace> {
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n2,3\n' });
  await shell(place, 'mkfifo pipe.csv');
  return place;
}

/** Returns whether a run handles signals yet. Node.js itself handles SIGINT and SIGTERM, but not SIGHUP, whose bit is the lowest. */
function handlesSignals(pid: number | undefined): boolean {
  const [, caught = '0'] = /^SigCgt:\s*([\da-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number(`0x${caught.slice(-1)}`) & 1) === 1;
}

describe('a run with a named pipe', () => {
  test.each([
    ['--in', 'SIGTERM', 143],
    ['--in', 'SIGINT', 130],
    ['--out', 'SIGTERM', 143],
    ['--errors', 'SIGTERM', 143],
    ['--events', 'SIGTERM', 143],
    ['--events', 'SIGINT', 130],
    ['--summary', 'SIGTERM', 143],
  ] as const)('ends at a signal while no other process has opened the pipe: %s, %s', async (option, signal, expected) => {
    const place = await placeWithPipe();
    const args = Object.entries({ '--in': 'rows.csv', '--out': 'out.csv', [option]: 'pipe.csv' }).flat();
    const { child, finished } = place.start(['run', 'flow.yaml', ...args]);
    await expect.poll(() => handlesSignals(child.pid)).toBe(true);
    // In this time, the run opens the pipe.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    child.kill(signal);
    expect((await finished).code).toBe(expected);
  });

  test('ends at SIGTERM while a process has opened the input pipe but writes nothing', async () => {
    const place = await placeWithPipe();
    const writer = shell(place, 'exec 3>pipe.csv; while [ -e flow.yaml ] && ! [ -e ended ]; do sleep 0.1; done');
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'pipe.csv', '--out', 'out.csv']);
    await expect.poll(() => existsSync(place.path('out.csv.automate-lock'))).toBe(true);
    child.kill('SIGTERM');
    expect((await finished).code).toBe(143);
    await place.write('ended', '');
    await writer;
  });

  test('is refused if the pipe has the name of its journal', async () => {
    const place = await placeWithPipe();
    await rename(place.path('pipe.csv'), place.path('out.csv.automate-run'));
    const { code, stderr } = await place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']).finished;
    expect([code, stderr]).toEqual([73, expect.stringContaining('out.csv.automate-run is not a file, which is not allowed for a journal')]);
  });
});

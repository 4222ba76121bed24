import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { run } from '../helpers/resuming.ts';
import { canTrace, sabotaged, shell, unlessTraced } from '../helpers/shell.ts';

const count = 600;

/** Creates two workplaces with the same run. In the first, the run has ended without a fault; in the second, a fault will occur. */
async function twoPlaces(ms = 3) {
  const server = await askedServer(ms);
  const files = { 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(count) };
  const [whole, place] = [await workplace(files), await workplace(files)];
  await whole.automate(run);
  server.forget();
  return { server, whole, place };
}

describe.skipIf(!canTrace)(`a full disk${unlessTraced}`, () => {
  test.each([
    ['the output', 'out.csv'],
    ['the errors', 'out.errors.csv'],
    ['the journal', 'out.csv.automate-run'],
  ])('ends the run, which can be resumed, and the message contains the path of %s', async (_, name) => {
    const { whole, place } = await twoPlaces();
    // The path is absolute, because strace compares it with the path that the program passes to the system.
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv')];
    const { code, stderr } = await sabotaged(place, 'write:error=ENOSPC:when=2+', [name], args);
    expect(code).toBe(74);
    expect(stderr).toContain(`${place.path(name)} cannot be written: ENOSPC`);
    expect(stderr).toMatch(/\d+ records are done; once that is solved, resume with:\n +automate run .* --resume/);
    expect((await place.automate([...args, '--resume'])).code).toBe(4);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.read('out.errors.csv')).toBe(await whole.read('out.errors.csv'));
  });

  test('ends a run that is downloading a file, and the run can be resumed', async () => {
    const server = await askedServer();
    const flow = `nodes:\n  - { type: http, url: "${server.origin}/{{id}}", concurrency: 1, save: { to: "{{id}}.json" } }\n`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n2\n3\n' });
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--files', place.folder];
    const { code, stderr } = await sabotaged(place, 'write:error=ENOSPC', ['.2.json.automate-part'], args);
    expect({ code, stderr }).toMatchObject({ code: 74, stderr: expect.stringContaining('2.json cannot be written: ENOSPC') });
    expect(await place.files()).not.toContain('2.json');
    expect(await place.files()).not.toContain('.2.json.automate-part');
    expect((await place.automate([...args, '--resume'])).code).toBe(0);
    expect((await place.read('out.csv')).split('\n')).toHaveLength(5);
  });

  test('does not stop the run if it affects only the events file, but the run exits with 74', async () => {
    const { whole, place } = await twoPlaces();
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--events', place.path('events.ndjson')];
    const { code, stderr } = await sabotaged(place, 'write:error=ENOSPC:when=2', ['events.ndjson'], args);
    expect(code).toBe(74);
    expect(stderr).toContain(`${place.path('events.ndjson')} cannot be written: ENOSPC`);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    const events = await place.read('events.ndjson');
    expect(events).toContain('"type":"run-started"');
    expect(events).not.toContain('"type":"run-ended"');
  });

  test('ends a new run without a request if the journal cannot be created', async () => {
    const { server, place } = await twoPlaces();
    const before = await place.files();
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv')];
    const { code, stderr } = await sabotaged(place, 'fdatasync:error=ENOSPC:when=1', ['out.csv.automate-run.new'], args);
    expect([code, stderr]).toEqual([
      74,
      `automate: ${place.path('out.csv.automate-run')} cannot be written: ENOSPC: no space left on device\n`,
    ]);
    expect(server.calls.size).toBe(0);
    expect(await place.files()).toEqual(before);
  });
});

describe.skipIf(!canTrace)(`a file whose sync to disk (fsync) fails${unlessTraced}`, () => {
  test.each([
    ['the output', 'out.csv'],
    ['the errors', 'out.errors.csv'],
    ['the journal', 'out.csv.automate-run'],
  ])('ends the run if it is %s, and the run can be resumed without a loss', async (_, name) => {
    const { whole, place } = await twoPlaces();
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv')];
    const { code, stderr } = await sabotaged(place, 'fdatasync:error=EIO:when=2', [name], args);
    expect(code).toBe(74);
    expect(stderr).toContain(`${place.path(name)} cannot be written: EIO`);
    expect((await place.automate([...args, '--resume'])).code).toBe(4);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.read('out.errors.csv')).toBe(await whole.read('out.errors.csv'));
  });
});

test.skipIf(!canTrace)(`a run whose output cannot be closed ends with exit code 74, and can be resumed${unlessTraced}`, async () => {
  const { whole, place } = await twoPlaces();
  const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv')];
  const { code, stderr } = await sabotaged(place, 'close:error=EIO', ['out.csv'], args);
  expect(code).toBe(74);
  expect(stderr).toContain(`${place.path('out.csv')} cannot be written: EIO`);
  expect((await place.automate([...args, '--resume'])).code).toBe(4);
  expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
});

const canMount = mounted('/mnt') && spawnSync('umount', ['/mnt']).status === 0;

function mounted(folder: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status === 0;
}

test.skipIf(!canMount)(
  `a run that fills the disk can be resumed once the disk has space${canMount ? '' : ' (skipped: nothing can be mounted here)'}`,
  async () => {
    const { whole, place } = await twoPlaces();
    const small = place.path('small');
    await mkdir(small);
    mounted(small);
    try {
      await place.write('small/ballast', Buffer.alloc(52 * 1024));
      const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'small/out.csv'];
      const { code, stderr } = await place.automate(args);
      expect(code).toBe(74);
      expect(stderr).toMatch(/small\/\S+ cannot be written: ENOSPC/);
      spawnSync('mount', ['-o', 'remount,size=1m', small]);
      expect((await place.automate([...args, '--resume'])).code).toBe(4);
      expect(await place.read('small/out.csv')).toBe(await whole.read('out.csv'));
      expect(await place.read('small/out.errors.csv')).toBe(await whole.read('out.errors.csv'));
    } finally {
      spawnSync('umount', [small]);
    }
  },
);

test.skipIf(!canMount)(
  `automate connections add exits with 74 if the disk is full, and keeps existing connections${canMount ? '' : ' (skipped: nothing can be mounted here)'}`,
  async () => {
    const place = await workplace();
    const small = place.path('small');
    await mkdir(small);
    mounted(small);
    try {
      const add = (name: string, path = '') =>
        place.automate(['connections', 'add', 'http', name, '--base-url', `https://api.example.com/${path}`], {
          env: { AUTOMATE_HOME: small },
        });
      await add('first');
      // The lock file and the beginning of the list of connections still fit on the disk.
      await place.write('small/ballast', Buffer.alloc(48 * 1024));
      const { code, stderr } = await add('second', 'x'.repeat(16 * 1024));
      expect(stderr).toBe(`automate: ${small}/connections.json cannot be written: no space left on device\n`);
      expect(code).toBe(74);
      expect(Object.keys(JSON.parse(await place.read('small/connections.json')))).toEqual(['first']);
      expect((await readdir(small)).sort()).toEqual(['ballast', 'connections.json']);
    } finally {
      spawnSync('umount', [small]);
    }
  },
);

test.each([
  ['as output', ['--out', '/dev/full', '--errors', 'errors.csv'], /\/dev\/full cannot be written: ENOSPC/],
  ['as errors file', ['--out', 'out.csv', '--errors', '/dev/full'], /\/dev\/full cannot be written: ENOSPC/],
])('a run with /dev/full %s ends with exit code 74 and a message with this path', async (_, files, expected) => {
  const server = await askedServer();
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(4000) });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out-format', 'csv', ...files]);
  expect(code).toBe(74);
  expect(stderr).toMatch(expected);
  expect(server.calls.size).toBeLessThan(2000);
});

test('an events file on a full disk does not stop the run, but leads to exit code 74', async () => {
  const server = await askedServer(0);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(6) });
  const { code, stderr } = await place.automate([...run, '--events', '/dev/full', '--summary', 's.json']);
  expect([code, stderr]).toEqual([74, expect.stringMatching(/done: 6 read, 6 written.*\/dev\/full cannot be written: ENOSPC/s)]);
  expect(JSON.parse(await place.read('s.json'))).toMatchObject({
    exit_code: 74,
    written: 6,
    reason: expect.stringContaining('/dev/full cannot be written'),
  });
});

test('a run whose output is in a missing or read-only folder exits with 74 before the first call', async () => {
  const server = await askedServer();
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(5) });
  for (const out of ['nowhere/out.csv', '/proc/out.csv']) {
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', out]);
    expect(code).toBe(74);
    expect(stderr).toContain(`${out} cannot be written`);
  }
  expect(server.calls.size).toBe(0);
});

test.skipIf(!canTrace)(
  `a run syncs the output and the errors file to disk (fsync) before it writes a checkpoint${unlessTraced}`,
  async () => {
    const { place } = await twoPlaces();
    const args = run.join(' ');
    const { code } = await shell(place, `strace -f -y -qq -o trace -e trace=write,fsync,fdatasync node "$AUTOMATE" ${args} --force`);
    expect(code).toBe(4);
    const calls = (await place.read('trace')).matchAll(/(write|fsync|fdatasync)\(\d+<([^>]+)>/g);
    const unsynced = new Set<string>();
    let checkpoints = 0;
    for (const [, call, path = ''] of calls) {
      const name = path.slice(place.folder.length + 1);
      const isResult = name === 'out.csv' || name === 'out.errors.csv';
      if (call !== 'write') unsynced.delete(name);
      else if (isResult) unsynced.add(name);
      else if (name.startsWith('out.csv.automate-run')) {
        expect([...unsynced]).toEqual([]);
        checkpoints++;
      }
    }
    expect(checkpoints).toBeGreaterThan(2);
  },
);

test.skipIf(!canTrace)(`a run syncs the folders of a new output and errors file to disk before it writes${unlessTraced}`, async () => {
  const { place } = await twoPlaces();
  const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out/out.csv', '--errors', 'err/errors.csv'].join(' ');
  await mkdir(place.path('out'));
  await mkdir(place.path('err'));
  await shell(place, `strace -f -y -qq -o trace -e trace=write,fsync node "$AUTOMATE" ${args}`);
  const trace = await place.read('trace');
  for (const [folder, file] of [
    ['out', 'out.csv'],
    ['err', 'errors.csv'],
  ]) {
    const written = trace.search(new RegExp(`write\\(\\d+<${place.path(`${folder}/${file}`)}>`));
    const synced = trace.slice(0, written).match(new RegExp(`fsync\\(\\d+<${place.path(folder as string)}>`, 'g')) ?? [];
    // The output's folder is synced once more for the journal.
    expect(synced.length).toBe(folder === 'out' ? 2 : 1);
  }
});

test.skipIf(!canTrace)(
  `a complete run whose last sync to disk fails exits with 74, and --resume sends nothing${unlessTraced}`,
  async () => {
    const { server, whole, place } = await twoPlaces();
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv')];
    const traced = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(count) });
    await shell(traced, 'strace -f -y -qq -o trace -e trace=fsync node "$AUTOMATE" run flow.yaml --in rows.csv --out out.csv');
    const syncs = (await traced.read('trace')).match(new RegExp(`fsync\\(\\d+<${traced.folder}>`, 'g')) ?? [];
    const { code, stderr } = await sabotaged(place, `fsync:error=EIO:when=${syncs.length}+`, [''], args);
    expect([code, stderr]).toEqual([
      74,
      expect.stringMatching(/out\.csv cannot be written: EIO.*\n.*resume with:\n +automate run .* --resume/),
    ]);
    server.forget();
    const resumed = await place.automate([...args, '--resume']);
    expect([resumed.code, server.calls.size]).toEqual([4, 0]);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.read('out.errors.csv')).toBe(await whole.read('out.errors.csv'));
  },
);

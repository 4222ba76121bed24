import { link, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const flow = 'nodes:\n  - type: set\n    fields: { ok: "1" }\n';
const run = ['run', 'flow.yaml', '--in', 'rows.csv'];
const placeForRun = () => workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n' });

describe("an output file in automate's home folder", () => {
  test.each(['--out', '--errors', '--events', '--summary', '--report'])(
    'is refused for the option %s, and the existing file remains unchanged',
    async (option) => {
      const place = await placeForRun();
      await mkdir(place.path('.automate'));
      await place.write('.automate/vault.json', 'precious');
      const others = option === '--out' ? ['--force'] : ['--out', 'out.csv', '--force'];
      const { code, stderr } = await place.automate([...run, option, '.automate/vault.json', '--out-format', 'csv', ...others]);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`.automate/vault.json must not be in automate's home folder\n  choose another file with ${option}`),
      ]);
      expect(await place.read('.automate/vault.json')).toBe('precious');
      expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
    },
  );

  test.each(['link.json', 'hard.json', 'folder/vault.json', 'folder/new.json', '.automate/../.automate/runs/new.json'])(
    'is refused for --summary %s, even if the path is a link or is spelt differently',
    async (path) => {
      const place = await placeForRun();
      await mkdir(place.path('.automate/runs'), { recursive: true });
      await place.write('.automate/vault.json', 'precious');
      await symlink(place.path('.automate/vault.json'), place.path('link.json'));
      await link(place.path('.automate/vault.json'), place.path('hard.json'));
      await symlink(place.path('.automate'), place.path('folder'));
      const { code, stderr } = await place.automate([...run, '--out', 'out.csv', '--summary', path]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("must not be in automate's home folder")]);
      expect(await readFile(place.path('.automate/vault.json'), 'utf8')).toBe('precious');
    },
  );
});

test('an errors file beside stdout that cannot be written is refused with the option for another one', async () => {
  // The name of its lock is longer than file systems allow.
  const name = 'f'.repeat(235);
  const place = await workplace({ [`${name}.yaml`]: flow, 'rows.csv': 'id\n1\n' });
  const { code, stdout, stderr } = await place.automate(['run', `${name}.yaml`, '--in', 'rows.csv']);
  const message = expect.stringMatching(
    /f\.errors\.csv cannot be written: ENAMETOOLONG: name too long\n {2}choose another file with --errors\n$/,
  );
  expect([code, stdout, stderr]).toEqual([74, '', message]);
});

describe('a path that the run already uses for one of its own files', () => {
  test.each([
    ['--errors', 'out.csv.automate-run', 'the journal of the output'],
    ['--events', 'out.csv.automate-run', 'the journal of the output'],
    ['--summary', './out.csv.automate-run', 'the journal of the output'],
    ['--summary', 'out.csv.automate-run.new', 'the journal of the output'],
    ['--summary', 'out.csv.automate-lock', 'the lock of the output'],
    ['--summary', 'out.errors.csv.automate-lock', 'the lock of the errors file'],
    ['--events', 'out.errors.csv', 'the errors file'],
    ['--report', 'out.csv.automate-run', 'the journal of the output'],
  ])('is refused for %s %s, because it is %s', async (option, path, what) => {
    const place = await placeForRun();
    const { code, stderr } = await place.automate([...run, '--out', 'out.csv', option, path]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(what)]);
    expect(stderr).toContain(path);
    expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
  });
});

describe('a path that is a dangling symbolic link', () => {
  test.each(['--out', '--errors', '--events', '--summary', '--report'])('is refused for %s before anything is sent', async (option) => {
    const server = await httpServer((_, response) => json(response, {}));
    const place = await workplace({
      'flow.yaml': `nodes:\n  - type: http\n    url: ${server.origin}/{{id}}\n`,
      'rows.csv': 'id\n1\n',
    });
    await symlink('gone.csv', place.path('link.csv'));
    const { code, stderr } = await place.automate([...run, '--out', 'out.csv', '--force', option, 'link.csv']);
    expect([code, stderr]).toEqual([
      73,
      `automate: link.csv is a symbolic link to a file that does not exist\n  remove it, or choose another file with ${option}\n`,
    ]);
    expect(server.requests).toEqual([]);
    expect(await place.files()).toEqual(['flow.yaml', 'link.csv', 'rows.csv']);
  });
});

describe('a run', () => {
  test("is refused before anything is sent if automate's folder `runs` is a symbolic link", async () => {
    const server = await httpServer((_, response) => json(response, {}));
    const place = await workplace({
      'flow.yaml': `nodes:\n  - type: http\n    url: ${server.origin}/{{id}}\n`,
      'rows.csv': 'id\n1\n',
    });
    await mkdir(place.path('elsewhere'));
    await place.automate([...run, '--out', 'first.csv']);
    await rm(place.path('.automate/runs'), { recursive: true, force: true });
    await symlink(place.path('elsewhere'), place.path('.automate/runs'));
    const before = server.requests.length;
    const { code, stderr } = await place.automate([...run, '--out', 'out.csv']);
    expect([code, stderr]).toEqual([74, expect.stringMatching(/\.automate\/runs is a symbolic link\n/)]);
    expect(server.requests).toHaveLength(before);
  });
});

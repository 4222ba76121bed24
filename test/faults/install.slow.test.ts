import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The files of the repository that a package is made of. Packing changes package.json for a moment, so it happens elsewhere. */
const sources = ['.config', 'bin', 'docs', 'examples', 'src', 'CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'tsconfig.json'];

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-install-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function npm(cwd: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync('npm', args, { cwd, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return stdout + stderr;
}

test('the package installs from its tarball without a warning about scripts, and runs with nothing but PATH and HOME', async () => {
  const folder = await temporaryFolder();
  for (const name of sources) await cp(join(root, name), join(folder, 'source', name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'source', 'node_modules'));
  npm(join(folder, 'source'), 'pack', '--pack-destination', folder);
  expect(await readFile(join(folder, 'source', 'package.json'), 'utf8')).toBe(await readFile(join(root, 'package.json'), 'utf8'));

  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) as string;
  const prefix = join(folder, 'prefix');
  await mkdir(prefix);
  expect(npm(folder, 'install', '--global', '--prefix', prefix, join(folder, tarball))).not.toMatch(/script/);

  const home = join(folder, 'home');
  await mkdir(home);
  const PATH = [join(prefix, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  const start = (command: string, env: Record<string, string> = {}) => {
    const { stdout, stderr, status } = spawnSync('/bin/sh', ['-c', command], {
      cwd: home,
      env: { PATH, HOME: home, ...env },
      encoding: 'utf8',
    });
    return { stdout, stderr, status };
  };

  expect(start('automate demo')).toMatchObject({ status: 0, stdout: expect.stringContaining('Asunción') });

  await writeFile(join(home, 'rows.csv'), 'a\n1\n');
  await writeFile(join(home, 'flow.yaml'), 'nodes: [{ type: set, fields: { b: { cel: "a + \'!\'" } } }]\n');
  expect(start('automate run flow.yaml --in rows.csv --out - --quiet')).toEqual({ status: 0, stdout: 'a,b\n1,1!\n', stderr: '' });
  const vault = { AUTOMATE_VAULT_PASSPHRASE: 'correct horse battery staple' };
  expect(start('printf s3cret | automate credentials set crm --backend vault', vault).status).toBe(0);
  expect(start('automate credentials check crm', vault)).toMatchObject({ status: 0 });
});

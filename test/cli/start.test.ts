import { spawnSync } from 'node:child_process';
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Tells, before anything else happens, whether V8 took the compiled code that it was given. */
const spy = `const vm = require('node:vm');
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    process.stderr.write(this.cachedDataRejected ? 'refused\\n' : 'taken\\n');
  }
};
`;

/** The program as it is installed, in a folder of its own. */
async function installed() {
  const folder = await mkdtemp(join(tmpdir(), 'automate-start-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['bin', 'dist', 'package.json']) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'flow.yaml'), 'nodes: [{ type: set, fields: { b: "{{a}}!" } }]\n');
  await writeFile(join(folder, 'rows.csv'), 'a\n1\n');
  await writeFile(join(folder, 'spy.cjs'), spy);
  const [compiled, ...others] = (await readdir(join(folder, 'dist'))).filter((name) =>
    name.endsWith(`${process.version}-${process.platform}-${process.arch}`),
  );
  expect(others).toEqual([]);
  return {
    program: join(folder, 'dist', 'main.cjs'),
    compiled: join(folder, 'dist', compiled ?? ''),
    run(...flags: string[]) {
      const args = [...flags, '--require', './spy.cjs', 'bin/automate.js', 'run', 'flow.yaml', '--in', 'rows.csv', '--out', '-'];
      const env = { PATH: process.env.PATH, AUTOMATE_HOME: folder, XDG_CACHE_HOME: folder };
      const { stdout, stderr, status } = spawnSync(process.execPath, [...args, '--quiet'], { cwd: folder, env, encoding: 'utf8' });
      return { stdout, stderr, status };
    },
  };
}

const works = { status: 0, stdout: 'a,b\n1,1!\n' };

test('the code that the build has compiled is taken', async () => {
  expect((await installed()).run()).toEqual({ ...works, stderr: 'taken\n' });
});

test.each([
  ['other flags of V8', ['--no-opt']],
  ['less memory', ['--max-old-space-size=64']],
])('%s: it works all the same', async (_, flags) => {
  expect((await installed()).run(...flags)).toMatchObject(works);
});

test.each([
  ['empty', Buffer.alloc(0)],
  ['no compiled code', Buffer.from('something else')],
])('a file that is %s is refused, and it works all the same', async (_, content) => {
  const { compiled, run } = await installed();
  await writeFile(compiled, content);
  expect(run()).toEqual({ ...works, stderr: 'refused\n' });
});

test('a program that was changed since is compiled anew', async () => {
  const { program, compiled, run } = await installed();
  await utimes(compiled, 1, 1);
  expect(run()).toEqual({ ...works, stderr: '' });
  await appendFile(program, '\n');
  expect(run()).toEqual({ ...works, stderr: '' });
});

test('what cannot be read is no trouble', async () => {
  const { compiled, run } = await installed();
  await rm(compiled);
  await mkdir(compiled);
  expect(run()).toEqual({ ...works, stderr: '' });
});

test('the program is ASCII, as it is read, and means the same', async () => {
  const { program } = await installed();
  const text = await readFile(program, 'latin1');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: asks for anything but ASCII
  expect(/[^\x00-\x7f]/.exec(text)).toBeNull();
  const place = await workplace({
    'flow.yaml': `nodes: [{ type: set, fields: { b: { cel: 'duration("1500µs") > duration("1ms")' } } }]\n`,
    'rows.csv': 'a\n1\n',
  });
  expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', '-'])).stdout).toBe('a,b\n1,true\n');
});

test('another Node, for which nothing was compiled: it works all the same', async () => {
  const { compiled, run } = await installed();
  await rm(compiled);
  expect(run()).toEqual({ ...works, stderr: '' });
});

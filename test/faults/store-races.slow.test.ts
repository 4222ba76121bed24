import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { idsTo } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { passphrase, vaultPlace } from '../helpers/light-vault.ts';
import { deadPid } from '../helpers/processes.ts';
import { canTrace, shell } from '../helpers/shell.ts';

const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase };
const set = (place: Workplace, name: string) => place.automate(['credentials', 'set', name], { env, stdin: `secret of ${name}\n` });
const outcomesOf = async (started: readonly Promise<{ code: number | null; stderr: string }>[]) =>
  (await Promise.all(started)).filter(({ code }) => code !== 0).map(({ stderr }) => stderr);

/** Returns for each credential the store in which a run would find it. */
async function found(place: Workplace): Promise<string[]> {
  const { stdout, stderr } = await place.automate(['credentials', 'check'], { env });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

test.each([
  [2, 'a new vault', workplace],
  [8, 'a vault', vaultPlace],
])('%d processes can store secrets in %s at the same time without losing one', async (count, _, placed) => {
  const place = await placed();
  const names = idsTo(count).map((id) => `key-${id}`);
  expect(await outcomesOf(names.map((name) => set(place, name)))).toEqual([]);
  expect(await found(place)).toEqual(names.map((name) => `${name}: found in the vault`));
});

test('processes can store, remove and change secrets at the same time', async () => {
  const place = await vaultPlace();
  const old = ['old-1', 'old-2'];
  expect(await outcomesOf(old.map((name) => set(place, name)))).toEqual([]);
  const changes = [
    ...old.map((name) => place.automate(['credentials', 'remove', name], { env })),
    ...['new-1', 'new-2'].map((name) => set(place, name)),
    place.automate(['credentials', 'set', 'new-3', '--env', 'staging'], { env, stdin: 'another' }),
  ];
  expect(await outcomesOf(changes)).toEqual([]);
  expect(await found(place)).toEqual(['new-1: found in the vault', 'new-2: found in the vault']);
  const { stdout } = await place.automate(['credentials', 'check', 'new-3', '--env', 'staging'], { env });
  expect(stdout).toBe('new-3: found in the vault\n');
});

test.each([
  ['of a process that is dead', () => JSON.stringify({ pid: deadPid(), born: '1' })],
  ['of a dead process whose id a new process has', () => JSON.stringify({ pid: process.pid, born: '1' })],
  ['with no valid content', () => '{"pid": 1'],
])("a command takes over the credentials' lock file %s, and then removes the lock file", async (_, lock) => {
  const place = await vaultPlace();
  await place.write('.automate/credentials.json.automate-lock', lock());
  expect(await set(place, 'key')).toMatchObject({ code: 0, stderr: '"key" is stored in the vault\n' });
  expect((await readdir(place.path('.automate'))).sort()).toEqual(['credentials.json', 'vault.json']);
});

test.runIf(canTrace)("a process that slowly removes a dead process's lock file does not remove a newer lock file", async () => {
  const place = await vaultPlace();
  const lock = '.automate/credentials.json.automate-lock';
  await place.write(lock, JSON.stringify({ pid: deadPid(), born: '1' }));
  const { stderr } = await shell(
    place,
    `slow() { strace -f -qq -o /dev/null "$@"; }
     set() { node "$AUTOMATE" credentials set $1 --backend vault; }
     export -f set
     removing='/^(rename|unlink|unlinkat)$'
     echo b | slow -P "$PWD/${lock}" -e trace=$removing -e inject=$removing:delay_enter=1500000:delay_exit=3000000:when=1 bash -c 'set key-b' &
     sleep 1.3; echo a | slow -e trace=fsync -e inject=fsync:delay_enter=2500000 bash -c 'set key-a' &
     sleep 2.2; echo c | set key-c
     wait`,
    env,
  );
  expect(stderr.match(/is stored in the vault/g)).toHaveLength(3);
  expect(await found(place)).toEqual(['a', 'b', 'c'].map((name) => `key-${name}: found in the vault`));
});

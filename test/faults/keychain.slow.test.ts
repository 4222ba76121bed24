import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { listInKeychain } from '../helpers/keychain.ts';
import { lightVault, passphrase } from '../helpers/light-vault.ts';
import { readProc } from '../helpers/processes.ts';
import { shell } from '../helpers/shell.ts';

const missing = ['dbus-run-session', 'gnome-keyring-daemon', 'secret-tool'].filter((tool) => spawnSync(tool, ['--version']).error);
const skipped = missing.length === 0 ? '' : ` (skipped: no ${missing.join(', no ')} here)`;

const auth = ', auth: { type: bearer, credential: crm }, retry: { max: 0 }';
const run = 'automate run flow.yaml --in rows.csv --out out.csv --force --quiet';
/** A shell command that prints all the secrets that a home folder has in the keychain. */
const secrets = `secret-tool search --all service "automate $AUTOMATE_HOME" 2>/dev/null | sed -n 's/^secret = //p' | sort`;
const unlocked = 'printf login | gnome-keyring-daemon --unlock --components=secrets --daemonize';
/** Starts a keychain that stays locked, because without a screen nobody can enter its password. */
const locked = 'gnome-keyring-daemon --start --components=secrets';

const flowPlace = (origin: string) => workplace({ 'flow.yaml': askingFlow(origin, auth), 'rows.csv': csvOf(1) });

/** Runs the commands in a D-Bus session with its own keychain in the workplace's home. Returns each command's output and exit code. */
async function session(place: Workplace, keyring: string, steps: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const lines = steps.map((step) => `echo ::; ( ${step} ) 2>&1; echo "exit $?"`);
  const script = ['automate() { node "$AUTOMATE" "$@"; }', `${keyring} >/dev/null 2>&1`, ...lines];
  await place.write('session.sh', `${script.join('\n')}\n`);
  const { stdout } = await shell(place, 'exec dbus-run-session -- bash session.sh', env);
  return stdout
    .split('::\n')
    .slice(1)
    .map((text) => text.trim());
}

/** Returns the command lines of the running processes that use this workplace's home folder. */
function processesOf({ folder }: Workplace): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && readProc(pid, 'environ').includes(`HOME=${folder} `))
    .map((pid) => readProc(pid, 'cmdline'));
}

const expectNoProcess = (place: Workplace) => expect.poll(() => processesOf(place)).toEqual([]);

describe.skipIf(skipped)(`a credential in the Secret Service (the Linux keychain)${skipped}`, () => {
  test('is stored, can be restored until a new secret has worked, and can be removed', async () => {
    const server = await httpServer(({ headers }, response) =>
      json(response, { name: 'x' }, headers.authorization === 'Bearer second secret' ? 200 : 401),
    );
    const place = await flowPlace(server.origin);
    const said = await session(place, unlocked, [
      'automate credentials backend',
      'echo first secret | automate credentials set crm',
      secrets,
      `${run} >/dev/null 2>&1`,
      'echo second secret | automate credentials set crm',
      secrets,
      run,
      secrets,
      'automate credentials check',
      'automate credentials remove crm',
      secrets,
      'automate credentials check crm',
    ]);
    expect(said).toEqual([
      expect.stringMatching(/keychain +active +the operating system's\nvault +unavailable .*\nexit 0$/),
      '"crm" is stored in the keychain\nexit 0',
      'first secret\nexit 0',
      'exit 4',
      expect.stringMatching(/^"crm" is stored in the keychain\nthe previous secret stays stored.* restore crm\nexit 0$/),
      'first secret\nsecond secret\nexit 0',
      'exit 0',
      'second secret\nexit 0',
      'crm: found in the keychain\nexit 0',
      '"crm" is removed\nexit 0',
      'exit 0',
      expect.stringMatching(/there is no credential "crm"[\s\S]*exit 7$/),
    ]);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer first secret', 'Bearer second secret']);
    await expectNoProcess(place);
  });

  test('cannot be used while the keychain is locked: the run exits with 7', async () => {
    const server = await askedServer();
    const place = await flowPlace(server.origin);
    await session(place, unlocked, ['echo first secret | automate credentials set crm']);
    await mkdir(place.path('.automate'), { recursive: true });
    await place.write('.automate/vault.json', JSON.stringify(lightVault()));
    const said = await session(place, locked, [
      run,
      'automate credentials backend',
      'echo second secret | automate credentials set crm',
      'automate credentials remove crm',
      `echo second secret | AUTOMATE_VAULT_PASSPHRASE='${passphrase}' automate credentials set crm --backend vault`,
      `AUTOMATE_VAULT_PASSPHRASE='${passphrase}' automate credentials check`,
    ]);
    expect(said).toEqual([
      expect.stringMatching(
        /the credential "crm" is in the keychain: the keychain cannot be used: it is locked\n[\s\S]*AUTOMATE_CREDENTIAL_CRM[\s\S]*exit 7$/,
      ),
      expect.stringMatching(/keychain +unavailable +it is locked\n/),
      expect.stringMatching(/it is locked\n[\s\S]*do one of these[\s\S]*--backend vault[\s\S]*exit 7$/),
      expect.stringMatching(/it is locked\n.*automate credentials remove crm --force\nexit 7$/),
      expect.stringMatching(/^"crm" is stored in the vault\nwarning: the old secret is still in the keychain.*\nexit 0$/),
      'crm: found in the vault\nexit 0',
    ]);
    expect(server.calls.size).toBe(0);
    await expectNoProcess(place);
  });

  test('is stored separately for each home folder', async () => {
    const place = await workplace();
    const said = await session(place, unlocked, [
      'echo first secret | automate credentials set crm',
      'echo second secret | AUTOMATE_HOME=$PWD/other automate credentials set crm',
      secrets,
      `AUTOMATE_HOME=$PWD/other; ${secrets}`,
    ]);
    expect(said.slice(2)).toEqual(['first secret\nexit 0', 'second secret\nexit 0']);
  });
});

test('a run without D-Bus, such as under cron, exits with 7 and reports the reason', async () => {
  const server = await askedServer();
  const place = await flowPlace(server.origin);
  await listInKeychain(place, 'crm');
  for (const env of [{}, { DBUS_SESSION_BUS_ADDRESS: `unix:path=${place.path('nobody')}` }]) {
    const { code, stderr } = await shell(place, run, env as Record<string, string>);
    expect([code, stderr]).toEqual([
      7,
      expect.stringMatching(/"crm" is in the keychain: the keychain cannot be used: no session bus \(D-Bus\) here/),
    ]);
  }
  expect(server.calls.size).toBe(0);
});

test('a run exits with 7 after 10 s if D-Bus does not respond, and leaves no process', async () => {
  const server = await askedServer();
  const place = await flowPlace(server.origin);
  await listInKeychain(place, 'crm');
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => {}).resume())).listen(place.path('bus'));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const env = { DBUS_SESSION_BUS_ADDRESS: `unix:path=${place.path('bus')}` };
  const killed = place.start(['credentials', 'check'], { env });
  await expect.poll(() => sockets.size).toBe(1);
  const { finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv'], { env });
  expect(processesOf(place).filter((line) => line.includes('keychain-process')).length).toBeGreaterThan(0);
  killed.child.kill('SIGKILL');
  const { code, stderr } = await finished;
  expect([code, stderr]).toEqual([7, expect.stringMatching(/the keychain cannot be used: no answer within 10 s\n/)]);
  expect(server.calls.size).toBe(0);
  await expectNoProcess(place);
});

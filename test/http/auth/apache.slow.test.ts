import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Workplace, workplace } from '../../helpers/cli.ts';
import { unusedPort } from '../../helpers/raw-server.ts';

const modules = '/usr/lib/apache2/modules';
const hasApache = spawnSync('apache2', ['-v']).status === 0 && existsSync(`${modules}/mod_auth_digest.so`);
const unlessApache = hasApache ? '' : ' (skipped: there is no apache2 with mod_auth_digest)';

const names = ['mpm_event', 'authn_core', 'authn_file', 'authz_core', 'authz_user', 'auth_digest'];

/** A nonce is stale after a second. */
const configOf = (place: Workplace, port: number) => `
ServerRoot ${place.folder}
ServerName localhost
PidFile ${place.path('pid')}
Listen 127.0.0.1:${port}
${names.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
ErrorLog ${place.path('error.log')}
CustomLog ${place.path('access.log')} "%>s"
DocumentRoot ${place.path('www')}
<Directory ${place.path('www')}>
  AuthType Digest
  AuthName api
  AuthDigestProvider file
  AuthUserFile ${place.path('users')}
  AuthDigestNonceLifetime 1
  Require valid-user
</Directory>
`;

async function startApache(place: Workplace, port: number): Promise<void> {
  mkdirSync(place.path('www'));
  for (const folder of [place.folder, place.path('www')]) chmodSync(folder, 0o755);
  await place.write('www/1.json', '{"name":"Ann"}');
  await place.write('www/2.json', '{"name":"Bob"}');
  await place.write('users', `ada:api:${createHash('md5').update('ada:api:a pass:word-7731').digest('hex')}\n`);
  await place.write('apache.conf', configOf(place, port));
  const apache = spawn('apache2', ['-f', place.path('apache.conf'), '-D', 'FOREGROUND'], { stdio: ['ignore', 'inherit', 'inherit'] });
  onTestFinished(async () => {
    if (apache.exitCode !== null) return;
    apache.kill();
    await once(apache, 'exit');
  });
  while (!existsSync(place.path('pid'))) {
    if (apache.exitCode !== null) throw new Error('apache2 has ended');
    await sleep(20);
  }
}

test.skipIf(!hasApache)(`Apache accepts digests, also after its nonce is stale${unlessApache}`, async () => {
  const port = await unusedPort();
  const place = await workplace({
    'flow.yaml': `nodes:
  - type: http
    url: "http://127.0.0.1:${port}/{{id}}.json?of={{id}}"
    auth: { type: digest, credential: crm }
    rate: 100/s
    map: { name: name }
`,
    'rows.csv': `id\n${'1\n2\n'.repeat(120)}`,
  });
  await startApache(place, port);
  const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
  const refused = await place.automate(run, { env: { AUTOMATE_CREDENTIAL_CRM: 'ada:another-pass' } });
  expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining('refuses the user name and password in "crm" (401, Digest)')]);
  const { code, stderr } = await place.automate([...run, '--force'], { env: { AUTOMATE_CREDENTIAL_CRM: 'ada:a pass:word-7731' } });
  expect(code, stderr).toBe(0);
  expect(await place.read('out.csv')).toBe(`id,name\n${'1,Ann\n2,Bob\n'.repeat(120)}`);
  const statuses = (await place.read('access.log')).trim().split('\n');
  expect(statuses.filter((status) => status === '200')).toHaveLength(240);
});

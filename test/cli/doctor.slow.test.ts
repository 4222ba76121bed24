import { chmod, mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { clockFinding, diskFinding, nodeFinding } from '../../src/cli/doctor/machine-findings.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { readAllFiles, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { unusedPort } from '../helpers/raw-server.ts';

interface Found {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly advice: string | null;
}

async function doctor(place: Workplace, args: readonly string[] = [], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await place.automate(['doctor', ...args, '--json'], { env });
  const findings = JSON.parse(stdout) as Found[];
  return { code, stdout, stderr, findings, of: (check: string) => findings.find((finding) => finding.check.startsWith(check)) as Found };
}

const flowFor = (url: string, more = '') => `nodes:\n  - type: http\n    url: ${url}/{{id}}\n${more}`;

const certificates = makeCertificates();

describe('automate doctor', () => {
  test('reports a healthy machine and a healthy flow, and sends nothing', async () => {
    const api = await httpServer();
    const place = await workplace({ 'flow.yaml': flowFor(api.origin, '    auth: { type: bearer, credential: crm }\n') });
    await mkdir(place.path('.automate'), { mode: 0o700 });
    const env = { AUTOMATE_CREDENTIAL_CRM: 'CANARY-1', AUTOMATE_VAULT_PASSPHRASE: 'CANARY-2' };
    const { code, findings, stdout } = await doctor(place, ['flow.yaml'], env);
    expect([code, findings.filter(({ state }) => state !== 'ok')]).toEqual([0, []]);
    expect(findings.map(({ check }) => check)).toEqual([
      'node',
      'home',
      'clock',
      'disk of the home folder',
      'disk of this folder',
      'credentials',
      'keychain',
      'vault',
      'proxy',
      'certificates',
      'flow',
      'credentials of the flow',
      `host 127.0.0.1:${api.port}`,
    ]);
    for (const finding of findings) expect(Object.keys(finding)).toEqual(['check', 'state', 'message', 'advice']);
    expect([api.requests, stdout]).toEqual([[], expect.not.stringContaining('CANARY')]);
    expect(await readAllFiles(place)).not.toContain('CANARY');
  });

  test('works without any environment variable', async () => {
    const place = await workplace();
    const { code, stdout } = await place.start(['doctor'], { env: { PATH: '', HOME: '' } }).finished;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ok {7}node: Node\.js \d+\.\d+\.\d+\n/)]);
    expect(stdout).toMatch(/\nwarning {2}vault: it cannot be used: .+\n {11}set AUTOMATE_VAULT_PASSPHRASE/);
  });

  test.each([
    [0o777, 'problem', 1, 'other users can change files in'],
    [0o755, 'warning', 0, 'other users can list the files in'],
  ])('reports a home folder with the permissions %o', async (mode, state, exit, message) => {
    const place = await workplace();
    await mkdir(place.path('.automate'));
    await chmod(place.path('.automate'), mode);
    const { code, of } = await doctor(place);
    expect([code, of('home')]).toMatchObject([exit, { state, advice: expect.stringContaining('chmod 700 ') }]);
    expect(of('home').message).toContain(message);
  });

  test('reports a home folder that is a file, or that contains a file that other users can read', async () => {
    const place = await workplace({ home: '' });
    const { code, of } = await doctor(place, [], { AUTOMATE_HOME: place.path('home') });
    expect([code, of('home')]).toMatchObject([1, { state: 'problem', message: expect.stringContaining('home is not a folder') }]);
    await mkdir(place.path('.automate'), { mode: 0o700 });
    await place.write('.automate/old.json', '{}');
    await chmod(place.path('.automate/old.json'), 0o644);
    expect((await doctor(place)).of('home')).toMatchObject({ state: 'warning', message: expect.stringContaining(': old.json') });
  });

  test('reports a host that refuses connections, and a missing credential', async () => {
    const port = await unusedPort();
    const place = await workplace({ 'flow.yaml': flowFor(`http://127.0.0.1:${port}`, '    auth: { type: bearer, credential: crm }\n') });
    const { code, of } = await doctor(place, ['flow.yaml']);
    expect([code, of('host')]).toMatchObject([
      1,
      { state: 'problem', message: `http://127.0.0.1:${port}: the connection was refused (ECONNREFUSED)` },
    ]);
    expect(of('credentials of the flow')).toMatchObject({
      state: 'problem',
      message: 'flow.yaml:4:39: there is no credential "crm"',
      advice: expect.stringContaining('automate credentials set crm'),
    });
  });

  test('reports a host name that cannot be resolved by DNS', async () => {
    const place = await workplace({ 'flow.yaml': flowFor('https://nothing.invalid') });
    expect((await doctor(place, ['flow.yaml'])).of('host')).toMatchObject({ state: 'problem', message: expect.stringContaining('(DNS)') });
  });

  test('reports a certificate that is not trusted, and accepts it with --cacert', async () => {
    const untrusted = await httpServer(() => {}, certificates.selfSigned);
    const signed = await httpServer(() => {}, certificates.good);
    const place = await workplace({ 'flow.yaml': flowFor(untrusted.origin), 'good.yaml': flowFor(signed.origin) });
    const { code, of } = await doctor(place, ['flow.yaml']);
    expect([code, of('host')]).toMatchObject([
      1,
      { state: 'problem', message: expect.stringContaining('the TLS connection to'), advice: expect.stringContaining('--cacert FILE') },
    ]);
    const good = await doctor(place, ['good.yaml', '--cacert', certificates.authority]);
    expect(good.of('host')).toMatchObject({
      message: expect.stringMatching(/accepts connections at 127\.0\.0\.1 with TLSv1\.3; its certificate expires on \d{4}-/),
    });
    expect([...untrusted.requests, ...signed.requests]).toEqual([]);
  });

  test('reports the first problem of a broken flow', async () => {
    const place = await workplace({ 'flow.yaml': 'nodes:\n  - type: htp\n' });
    const { code, of } = await doctor(place, ['flow.yaml']);
    expect([code, of('flow')]).toMatchObject([
      1,
      {
        state: 'problem',
        message: expect.stringMatching(/^flow\.yaml is not valid: 1 problem, first flow\.yaml:2:11: /),
        advice: 'automate validate flow.yaml',
      },
    ]);
    expect((await doctor(place, ['none.yaml'])).of('flow').message).toContain('there is no such file');
  });

  test('checks the proxy, without printing its password', async () => {
    const proxy = await httpServer();
    const place = await workplace({ 'flow.yaml': flowFor('https://api.example.com') });
    const env = { HTTPS_PROXY: `http://user:CANARY@127.0.0.1:${proxy.port}` };
    const { code, of, stdout } = await doctor(place, ['flow.yaml'], env);
    expect([code, of('proxy').message]).toEqual([0, `https requests go through 127.0.0.1:${proxy.port}, which can be reached`]);
    expect(of('host').message).toBe(
      `https://api.example.com is reached through the proxy 127.0.0.1:${proxy.port}, so it is not checked here`,
    );
    expect([proxy.requests, stdout]).toEqual([[], expect.not.stringContaining('CANARY')]);
    const closed = await doctor(place, [], { https_proxy: `http://user:CANARY@127.0.0.1:${await unusedPort()}` });
    expect([closed.code, closed.of('proxy')]).toMatchObject([1, { state: 'problem', advice: 'check HTTPS_PROXY' }]);
    const wrong = await doctor(place, ['flow.yaml'], { HTTPS_PROXY: 'socks5://user:CANARY@x' });
    expect([wrong.code, wrong.of('proxy').message]).toEqual([1, expect.stringContaining('HTTPS_PROXY: expected the URL of a proxy')]);
    expect(closed.stdout + wrong.stdout + wrong.stderr).not.toContain('CANARY');
  });

  test('reports a file of certificate authorities that is not readable', async () => {
    const place = await workplace();
    const { code, of } = await doctor(place, [], { NODE_EXTRA_CA_CERTS: place.path('none.pem') });
    expect([code, of('certificates')]).toMatchObject([1, { state: 'problem', message: expect.stringContaining('NODE_EXTRA_CA_CERTS: ') }]);
    expect((await doctor(place, [], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).of('certificates').state).toBe('warning');
    const cacert = await doctor(place, ['--cacert', place.path('none.pem')]);
    expect(cacert.of('certificates').message).toContain('--cacert: ');
  });

  test('reports a damaged list of credentials, and a vault that does not open', async () => {
    const place = await workplace();
    await mkdir(place.path('.automate'), { mode: 0o700 });
    await place.write('.automate/credentials.json', 'CANARY');
    await place.write('.automate/vault.json', '{}');
    const { code, of, stdout } = await doctor(place, [], { AUTOMATE_VAULT_PASSPHRASE: 'x' });
    expect([code, of('credentials').state, of('vault').state, stdout]).toEqual([
      1,
      'problem',
      'problem',
      expect.not.stringContaining('CANARY'),
    ]);
  });
});

describe('an `automate doctor` check', () => {
  test.each([
    ['20.18.0', 'ok'],
    ['22.2.0', 'ok'],
    ['24.1.0', 'ok'],
    ['21.7.3', 'problem'],
    ['22.1.0', 'problem'],
    ['20.17.9', 'problem'],
    ['18.20.0', 'problem'],
  ])('rates Node.js %s as "%s"', (version, state) => {
    expect(nodeFinding(version).state).toBe(state);
  });

  test.each([
    ['1970-01-01', undefined, 'problem'],
    ['2150-01-01', undefined, 'problem'],
    ['2026-06-01', '2026-06-02', 'warning'],
    ['2026-06-02', '2026-06-01', 'ok'],
  ])('rates the clock at %s, with a newest file from %s, as "%s"', (now, newest, state) => {
    expect(clockFinding(Date.parse(now), newest === undefined ? 0 : Date.parse(newest)).state).toBe(state);
  });

  test.each([
    [undefined, 'ok'],
    [5e12, 'ok'],
    [100e6, 'warning'],
    [1e6, 'problem'],
  ])('rates %s bytes of free disk space as "%s"', (free, state) => {
    expect(diskFinding('disk', free).state).toBe(state);
  });
});

import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import type { Auth } from '../../src/core/auth/auth.ts';
import { Failure } from '../../src/core/failure.ts';
import { type Diagnosis, diagnose } from '../../src/mcp/diagnosis.ts';
import { local, remote } from '../helpers/mcp/tools.ts';

const bearer: Auth = { type: 'bearer', credential: 'crm' };

/** Creates a failure whose chain of causes contains the system's error code. */
function withCode(code: string, cause: unknown = { code }): Failure {
  return Object.assign(new Failure('network', 'lost'), { cause: { cause } });
}

const answered = (status: number, message = `the server answered ${status}`, retryAfterMs?: number) =>
  new Failure('http', message, { status, retryAfterMs });

/** Creates a failure of a token server that responded with this status. */
const withoutToken = (status: number) =>
  new Failure('http', `no access token from auth.test: ${status}`, { status, code: 'no-access-token', details: { server: 'auth.test' } });

/** Returns a diagnosis as the command line prints it. */
const shown = ({ part, check, setting }: Diagnosis) =>
  messageWithAdvice({ message: 'lost', code: 'connection-failed', details: { part, checks: [check], setting } });

describe('the diagnosis for an MCP server at a URL', () => {
  test.each<[string, Failure, Diagnosis['part'], RegExp]>([
    ['a refused connection', withCode('ECONNREFUSED'), 'address', /^whether a server listens at crm\.test;/],
    ['an unknown host', withCode('ENOTFOUND'), 'address', /^the host in the URL: crm\.test;/],
    ['a DNS error among several errors', withCode('', { errors: [{}, { code: 'EAI_AGAIN' }] }), 'address', /^the host in the URL/],
    ['an unreachable host', withCode('EHOSTUNREACH'), 'firewall or proxy', /^outbound firewall rules to crm\.test/],
    ['a timeout', new Failure('timeout', 'late'), 'firewall or proxy', /start_timeout$/],
    [
      'a refusal by the proxy',
      new Failure('network', 'refused', { code: 'proxy', details: {} }),
      'firewall or proxy',
      /^the proxy in HTTPS_PROXY/,
    ],
    [
      'an untrusted certificate',
      new Failure('network', 'failed', { code: 'tls', details: { isUnknownAuthority: true } }),
      'TLS',
      /^the server's certificate/,
    ],
    ['a refused credential', answered(401), 'credential', /automate credentials check crm/],
    ['an expired credential', answered(401, 'token expired'), 'expiry', /set a new one: automate credentials set crm$/],
    ['a missing permission', answered(403), 'credential', /its rights or scopes/],
    ['a rate limit', answered(429, 'slow down', 2500), 'server', /asks you to wait for 3 s; try again later$/],
    ['an error of the server', answered(502), 'server', /^the server itself/],
    ['a wrong path', answered(404), 'address', /^the path in the URL: \/mcp;/],
    ['a redirect', new Failure('parse', 'Redirect to /x not followed'), 'address', /^the path in the URL/],
    ['a response in a different protocol', new Failure('parse', 'no JSON'), 'protocol', /does not speak the protocol$/],
    ['no token server', withoutToken(404), 'address', /^the token_url: .*auth\.test;/],
    ['a token server that refuses the client', withoutToken(400), 'credential', /credentials check crm/],
    ['a token server that fails', withoutToken(503), 'server', /^the server itself/],
  ])('names the failed step and what to check if there is %s', (_, failure, part, check) => {
    expect(diagnose(failure, remote('https://crm.test/mcp', bearer))).toMatchObject({ part, check: expect.stringMatching(check) });
  });

  test('suggests adding a credential if the server responds with 401 and the connection has no credential', () => {
    const found = diagnose(answered(401), remote('https://crm.test/mcp'));
    expect([found.part, shown(found)]).toEqual(['credential', expect.stringMatching(/--auth bearer --credential NAME/)]);
  });

  test('mentions the option for a certificate authority', () => {
    const failure = new Failure('network', 'failed', { code: 'tls', details: { isUnknownAuthority: true } });
    expect(shown(diagnose(failure, remote('https://crm.test/mcp', bearer)))).toContain('--cacert FILE');
  });
});

describe('the diagnosis for a local MCP server', () => {
  test.each<[string, Failure, Diagnosis['part'], RegExp]>([
    ['a missing program', withCode('ENOENT'), 'command', /^crm-server: is it installed/],
    ['a program that is not executable', withCode('EACCES'), 'command', /executable\?$/],
    ['a secret that is limited to certain hosts', new Failure('request', 'bound'), 'credential', /^the hosts/],
    ['a program that ends', new Failure('network', 'it ended'), 'protocol', /which variables it needs: crm-server --stdio$/],
  ])('names the failed step and what to check if there is %s', (_, failure, part, check) => {
    expect(diagnose(failure, local(['crm-server', '--stdio']))).toMatchObject({ part, check: expect.stringMatching(check) });
  });

  test("mentions the option for the server's environment variables", () => {
    expect(shown(diagnose(new Failure('network', 'it ended'), local(['crm-server'])))).toContain('--pass-env NAME');
  });
});

import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../../src/cli/advice.ts';
import type { Auth } from '../../../src/core/auth/auth.ts';
import { Failure } from '../../../src/core/failure.ts';
import { type Diagnosis, diagnose } from '../../../src/io/mcp/diagnosis.ts';
import { local, remote } from '../../helpers/mcp/tools.ts';

const bearer: Auth = { type: 'bearer', credential: 'crm' };

/** A failure with the system's error code in its chain of causes. */
function withCode(code: string, cause: unknown = { code }): Failure {
  return Object.assign(new Failure('network', 'lost'), { cause: { cause } });
}

const answered = (status: number, message = `the server answered ${status}`, retryAfterMs?: number) =>
  new Failure('http', message, { status, retryAfterMs });

/** The answer of a token server, which gave no token. */
const withoutToken = (status: number) =>
  new Failure('http', `no access token from auth.test: ${status}`, { status, code: 'no-access-token', details: { server: 'auth.test' } });

/** The check and the setting as the command line shows them. */
const shown = ({ part, check, setting }: Diagnosis) =>
  messageWithAdvice({ message: 'lost', code: 'connection-failed', details: { part, checks: [check], setting } });

describe('diagnosis of an MCP server at a URL', () => {
  test.each<[string, Failure, Diagnosis['part'], RegExp]>([
    ['a refused connection', withCode('ECONNREFUSED'), 'address', /^whether a server listens at crm\.test;/],
    ['an unknown host', withCode('ENOTFOUND'), 'address', /^the host in the URL: crm\.test;/],
    ['a code among several errors', withCode('', { errors: [{}, { code: 'EAI_AGAIN' }] }), 'address', /^the host in the URL/],
    ['an unreachable host', withCode('EHOSTUNREACH'), 'firewall or proxy', /^outbound firewall rules to crm\.test/],
    ['a timeout', new Failure('timeout', 'late'), 'firewall or proxy', /start_timeout$/],
    [
      'a refusal by the proxy',
      new Failure('network', 'refused', { code: 'proxy', details: {} }),
      'firewall or proxy',
      /^the proxy in HTTPS_PROXY/,
    ],
    [
      'an unknown certificate',
      new Failure('network', 'failed', { code: 'tls', details: { isUnknownAuthority: true } }),
      'TLS',
      /^the server's certificate/,
    ],
    ['a refused credential', answered(401), 'credential', /automate credentials check crm/],
    ['an expired credential', answered(401, 'token expired'), 'expiry', /set a new one: automate credentials set crm$/],
    ['a missing right', answered(403), 'credential', /its rights or scopes/],
    ['a rate limit', answered(429, 'slow down', 2500), 'server', /asks to wait for 3 s; try again later$/],
    ['an error of the server', answered(502), 'server', /^the server itself/],
    ['a wrong path', answered(404), 'address', /^the path in the URL: \/mcp;/],
    ['a redirect', new Failure('parse', 'Redirect to /x not followed'), 'address', /^the path in the URL/],
    ['an answer in another protocol', new Failure('parse', 'no JSON'), 'protocol', /does not speak the protocol$/],
    ['a token server that is missing', withoutToken(404), 'address', /^the token_url: .*auth\.test;/],
    ['a token server that refuses the client', withoutToken(400), 'credential', /credentials check crm/],
    ['a token server that fails', withoutToken(503), 'server', /^the server itself/],
  ])('names the part and what to check for %s', (_, failure, part, check) => {
    expect(diagnose(failure, remote('https://crm.test/mcp', bearer))).toMatchObject({ part, check: expect.stringMatching(check) });
  });

  test('asks for a credential if the connection has none and the server wants one', () => {
    const found = diagnose(answered(401), remote('https://crm.test/mcp'));
    expect([found.part, shown(found)]).toEqual(['credential', expect.stringMatching(/--auth bearer --credential NAME/)]);
  });

  test('names the option for the authority of a certificate', () => {
    const failure = new Failure('network', 'failed', { code: 'tls', details: { isUnknownAuthority: true } });
    expect(shown(diagnose(failure, remote('https://crm.test/mcp', bearer)))).toContain('--cacert FILE');
  });
});

describe('diagnosis of a local MCP server', () => {
  test.each<[string, Failure, Diagnosis['part'], RegExp]>([
    ['a missing program', withCode('ENOENT'), 'command', /^crm-server: is it installed/],
    ['a program without the right to run', withCode('EACCES'), 'command', /may it be run\?$/],
    ['a secret that is bound to hosts', new Failure('request', 'bound'), 'credential', /^the hosts/],
    ['a program that ends', new Failure('network', 'it ended'), 'protocol', /which variables it needs: crm-server --stdio$/],
  ])('names the part and what to check for %s', (_, failure, part, check) => {
    expect(diagnose(failure, local(['crm-server', '--stdio']))).toMatchObject({ part, check: expect.stringMatching(check) });
  });

  test('names the option for the variables of a program', () => {
    expect(shown(diagnose(new Failure('network', 'it ended'), local(['crm-server'])))).toContain('--pass-env NAME');
  });
});

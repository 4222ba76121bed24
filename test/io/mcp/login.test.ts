import { expect, test } from 'vitest';
import { openBrowser } from '../../../src/io/auth/browser.ts';
import { createLogin } from '../../../src/io/mcp/login.ts';

const auth = {
  type: 'oauth2_authorization_code',
  credential: 'login',
  clientId: undefined,
  clientCredential: undefined,
  scopes: [],
} as const;

test("an MCP server's tokens that are no longer valid are removed from the stored login", async () => {
  const written: string[] = [];
  const login = (stored?: string) =>
    createLogin({
      connection: 'docs',
      auth,
      clientSecret: undefined,
      stored,
      store: async (text) => void written.push(text),
      secret: () => {},
      person: undefined,
    });
  await login().provider.invalidateCredentials?.('tokens');
  expect(written).toEqual([]);
  const tokens = { one: { access_token: 'a', token_type: 'bearer' } };
  await login(JSON.stringify({ clients: {}, tokens, issuer: 'one' })).provider.invalidateCredentials?.('tokens');
  expect(written.map((text) => JSON.parse(text).tokens)).toEqual([{}]);
});

test('the browser shows the result of a login to an MCP server, and closing the login leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const browser = await openBrowser({ BROWSER: 'true' }, () => {});
  void browser.answer('state');
  const page = async (query: string) => (await fetch(`${browser.redirectUrl}?${query}`)).text();
  expect(await page('error=access_denied&state=other')).toContain('could not log in');
  expect(await page('code=1&state=other')).toContain('is logged in');
  browser.close();
  expect(timers()).toBeLessThanOrEqual(before);
});

import { expect, test } from 'vitest';
import { openBrowser } from '../../src/http/auth/browser.ts';
import { createLogin } from '../../src/mcp/login.ts';

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
  await browser.visit(new URL('https://login.test/?state=right'));
  const page = async (query: string) => {
    const response = await fetch(`${browser.redirectUrl}?${query}`);
    return [response.status, await response.text()];
  };
  for (const query of ['code=1', 'code=1&state=', 'code=1&state=wrong', 'error=access_denied&state=wrong']) {
    expect(await page(query)).toEqual([400, expect.stringContaining('The terminal still waits for that login')]);
  }
  const refused = [200, expect.stringContaining('could not log in')];
  expect(await page('error=access_denied&state=right')).toEqual(refused);
  expect((await browser.answer('right')).get('error')).toBe('access_denied');
  void browser.answer('right');
  expect(await page('code=&state=right')).toEqual(refused);
  const answer = browser.answer('right');
  expect(await page('code=1&state=right')).toEqual([200, expect.stringContaining('the terminal shows whether the login succeeded')]);
  expect((await answer).get('code')).toBe('1');
  void browser.answer('right');
  browser.close();
  expect(timers()).toBeLessThanOrEqual(before);
});

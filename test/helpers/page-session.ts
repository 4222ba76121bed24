import { expect } from 'vitest';
import type { Serving } from './serving.ts';

/** Returns the login link, which the server prints after its address. */
export async function linkOf({ said }: Serving): Promise<string> {
  await expect.poll(() => said()).toMatch(/page: \S+#\S+\n/);
  return /page: (\S+)/.exec(said())?.[1] ?? '';
}

/** Logs in without a browser. Returns the session and the headers for its requests. */
export async function pageSession(server: Serving) {
  const asJson = { 'content-type': 'application/json' };
  const post = { method: 'POST', headers: { origin: server.address } };
  const opened = await server.send('/ui/session', {
    ...post,
    headers: { ...post.headers, ...asJson },
    body: JSON.stringify({ token: (await linkOf(server)).split('#')[1] }),
  });
  const { page_token } = (await opened.json()) as { page_token: string };
  const headers = { ...post.headers, cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '', 'x-automate-page': page_token };
  return (path: string, method = 'GET', body?: unknown, more: Record<string, string> = {}) =>
    server.send(path, {
      method,
      headers: { ...headers, ...(body !== undefined && asJson), ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
}

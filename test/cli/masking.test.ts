import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

/** Runs a flow whose server sends the secret back in the form `shown`. Record 2 fails. */
async function run(secret: string, out: string, more: readonly string[] = [], shown = secret) {
  const server = await httpServer(({ path }, response) => {
    if (path === '/2') response.writeHead(400).end(`bad ${shown}`);
    else json(response, { echo: shown, [secret]: { [secret]: 1, [encodeURIComponent(`${secret}/`)]: 2 } });
  });
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: bearer, credential: tok }, map: { echo: echo } }]\n`;
  const place = await workplace({ 'flow.yaml': flow, 'n.csv': 'id,na/me,nickna/me,na%2Fme\n1,one,uno,eins\n2,two,dos,zwei\n' });
  const args = ['run', 'flow.yaml', '--in', 'n.csv', '--out', out, '--allow-http', ...more];
  return { place, ...(await place.automate(args, { env: { AUTOMATE_CREDENTIAL_TOK: secret } })) };
}

describe('a field whose name contains a secret', () => {
  test('is written to CSV under a masked header, with its value unchanged', async () => {
    const { place } = await run('na/me', 'out.csv');
    expect(await place.read('out.csv')).toBe('id,***,nick***,***_2,echo\n1,one,uno,eins,***\n');
    expect((await place.read('out.errors.csv')).split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^id,\*\*\*,nick\*\*\*,\*\*\*_2,_error_node,/),
      expect.stringMatching(/^2,two,dos,zwei,.*\*\*\*/),
    ]);
  });

  test('is written to JSON under a masked name, with its value unchanged', async () => {
    const { place } = await run('na/me', 'out.ndjson', ['--errors', 'errors.ndjson']);
    const fields = (text: string) => JSON.parse(text) as Record<string, unknown>;
    expect(fields(await place.read('out.ndjson'))).toEqual({ id: '1', '***': 'one', 'nick***': 'uno', '***_2': 'eins', echo: '***' });
    expect(fields(await place.read('errors.ndjson'))).toMatchObject({ id: '2', '***': 'two', 'nick***': 'dos', '***_2': 'zwei' });
  });
});

test.each(['csv', 'ndjson', 'json'])('a secret in a JSON string that itself contains JSON is masked in %s', async (format) => {
  const secret = 'back\\slash"quote';
  const shown = [1, 2, 3].reduce((text) => JSON.stringify(text), secret);
  const files = [`out.${format}`, `errors.${format}`, 'events.ndjson'] as const;
  const { place } = await run(secret, files[0], ['--errors', files[1], '--events', files[2]], shown);
  for (const file of files) expect(await place.read(file)).toMatch(/^(?!.*slash).*\*\*\*/s);
});

describe.each(['true', 'null', '1234', '"type', '0000'])('a run with the secret %j', (secret) => {
  test('still writes every event as valid JSON', async () => {
    const { place, code } = await run(secret, 'out.csv', ['--events', 'events.ndjson']);
    const lines = (await place.read('events.ndjson')).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(JSON.parse(line)).toEqual(expect.any(Object));
    expect(code).toBe(4);
  });

  test.each(['summary.json', '-'])('still writes the summary to %s as valid JSON', async (path) => {
    for (const more of [[], ['--dry-run']]) {
      const { place, stdout } = await run(secret, 'out.csv', ['--summary', path, ...more]);
      expect(JSON.parse(path === '-' ? stdout : await place.read(path))).toMatchObject({ input: 'n.csv' });
    }
  });
});

test.each<[string, (secret: string) => readonly [number, Record<string, string>]]>([
  ['content encoding', (secret) => [200, { 'content-encoding': secret }]],
  ['charset', (secret) => [200, { 'content-type': `text/plain; charset=${secret}` }]],
  ['redirect', (secret) => [302, { location: `${secret}://x` }]],
])('a secret that a server sends as its %s is completely masked', async (_, answer) => {
  const secret = 'CANARY9-Zk+/q=&"v\\w<x%41';
  const server = await httpServer((__, response) => response.writeHead(...answer(secret)).end('{"a":1}'));
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: bearer, credential: tok }, map: [a] }]\n`;
  const place = await workplace({ 'flow.yaml': flow, 'n.csv': 'id\n1\n' });
  const args = ['run', 'flow.yaml', '--in', 'n.csv', '--out', 'out.csv', '--events', 'events.ndjson', '--summary', 'summary.json'];
  const { code, stderr } = await place.automate(args, { env: { AUTOMATE_CREDENTIAL_TOK: secret } });
  const written = await Promise.all(['out.errors.csv', 'events.ndjson', 'summary.json'].map(place.read));
  expect([code, [stderr, ...written].join('')]).toEqual([4, expect.not.stringMatching(/canary9/i)]);
  for (const text of written) expect(text).toContain('***');
});

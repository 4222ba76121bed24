import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { unusedPort } from '../helpers/raw-server.ts';
import { shell } from '../helpers/shell.ts';

/** Runs `automate demo`, and also returns the files in its temporary folder as `files`. */
async function demo(env: Record<string, string> = {}) {
  const place = await workplace();
  return { ...(await place.automate(['demo'], { env: { TMPDIR: place.folder, ...env } })), files: await place.files() };
}

const expected = await readFile(new URL('../../examples/enrichment/expected.csv', import.meta.url), 'utf8');

test('automate demo starts its own API and runs the example flow against it', async () => {
  const { code, stdout, stderr, files } = await demo();
  expect(code).toBe(0);
  expect(stdout).toBe(
    expected
      .split('\n')
      .slice(0, 6)
      .map((line) => `${line}\n`)
      .join(''),
  );
  expect(stderr).toContain('url: /airports/{{iata}}');
  expect(stderr).toMatch(/automate(\.js)? run \S+flow\.yaml --in \S+airports\.csv --out \S+enriched\.csv --replace/);
  expect(stderr).toContain('done: 208 read, 208 written, 0 failed in ');
  expect(files).toEqual([expect.stringMatching(/^automate-demo-/)]);
});

test('automate demo prints commands that start the API and run the flow once more', async () => {
  const place = await workplace();
  const { stderr } = await shell(place, `node "$AUTOMATE" demo --port ${await unusedPort()}`, { TMPDIR: place.folder });
  const [run] = /^ {4}node .* run .*$/m.exec(stderr) ?? [''];
  const [serve] = /node .* demo --serve --port \d+$/m.exec(stderr) ?? [''];
  const again = `${serve} > served & sleep 0.1; until [ -s served ]; do sleep 0.1; done; ${run}; code=$?; kill %1; exit $code`;
  const pasted = await shell(place, again);
  expect(pasted.stderr).toContain('done: 208 read, 208 written, 0 failed in ');
  expect(pasted.code).toBe(0);
});

test('automate demo uses no proxy', async () => {
  const { code, stdout } = await demo({ HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'example.com' });
  expect(code).toBe(0);
  expect(stdout.split('\n')).toHaveLength(7);
});

test('automate demo names the temporary folder if it cannot create its files there', async () => {
  expect(await demo({ TMPDIR: '/nodir' })).toMatchObject({
    code: 74,
    stdout: '',
    stderr: 'automate: no folder can be created in /nodir: ENOENT: no such file or directory\n  set TMPDIR to a different folder\n',
  });
});

test('automate demo refuses a port above 65535', async () => {
  expect(await (await workplace()).automate(['demo', '--port', '99999'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'automate: --port: expected a port from 0 to 65535, found 99999\n',
  });
});

test('automate demo --serve serves the API until it receives a signal, and refuses a used port', async () => {
  const place = await workplace();
  const { child, finished } = place.start(['demo', '--serve', '--port', '0']);
  const [said] = await once(child.stdout ?? child, 'data');
  const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(String(said))?.[0] ?? '';
  expect(await (await fetch(`${origin}/v1/airports/AMS`)).json()).toMatchObject({ data: { airport: { iata: 'AMS' } } });
  const taken = await place.automate(['demo', '--serve', '--port', new URL(origin).port]);
  expect(taken).toMatchObject({ code: 2, stdout: '' });
  expect(taken.stderr).toMatch(/cannot listen on port \d+: .*\n {2}choose another with --port/);
  child.kill('SIGINT');
  expect((await finished).code).toBe(130);
});

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { csvRun } from '../helpers/served-runs.ts';
import { posting, servingHere as serving } from '../helpers/serving.ts';

const saving = (origin: string) => `nodes:\n  - { type: http, url: "${origin}/{{id}}", save: { to: "docs/{{id}}.txt" } }\n`;
const sending = (origin: string) => `nodes:\n  - { type: http, method: POST, url: "${origin}", form: { f: { file: "{{id}}" } } }\n`;

test('a server without --files responds with 409 for flows that upload or save files', async () => {
  const upstream = await httpServer();
  const { key, send } = await serving({ saving: saving(upstream.origin), sending: sending(upstream.origin) });
  const one = key({ scopes: ['run', 'test'] });
  for (const flow of ['saving', 'sending']) {
    for (const [path, init] of [
      ['calls', posting({ id: 1 })],
      ['runs', csvRun('id\n1\n')],
      ['tests', posting({ record: { id: 1 } })],
    ] as const) {
      const answer = await send(`/v1/flows/${flow}/${path}`, { key: one, ...init });
      expect([path, answer.status]).toEqual([path, 409]);
      expect(await answer.text()).toContain('start the server with a folder for files: --files DIR');
    }
  }
  expect(upstream.requests).toHaveLength(0);
});

test('a server with --files saves the files of calls and runs there, but not of tests', async () => {
  const upstream = await httpServer((request, response) => response.end(`text of ${request.path}`));
  const place = await workplace();
  const { mkdir, readdir } = await import('node:fs/promises');
  await mkdir(place.path('store'));
  const { key, send } = await serving({ saving: saving(upstream.origin) }, { place, args: ['--files', place.path('store')] });
  const one = key({ scopes: ['run', 'test'] });
  const tested = await send('/v1/flows/saving/tests', { key: one, ...posting({ record: { id: 1 } }) });
  expect(await tested.json()).toMatchObject({ response: { saved: { path: 'docs/1.txt', bytes: 10 } } });
  expect(await readdir(place.path('store'))).toEqual([]);
  const called = await send('/v1/flows/saving/calls', { key: one, ...posting({ id: 1 }) });
  expect(await called.json()).toMatchObject({ records: [{ 'saved.path': 'docs/1.txt', 'saved.bytes': 10 }] });
  expect(await readFile(place.path('store/docs/1.txt'), 'utf8')).toBe('text of /1');
  const ran = await send('/v1/flows/saving/runs', { key: one, ...csvRun('id\n2\n../../3\n', { prefer: 'wait=30' }) });
  expect(ran.status).toBeLessThan(300);
  expect(await readdir(place.path('store/docs'))).toEqual(['1.txt', '2.txt']);
});

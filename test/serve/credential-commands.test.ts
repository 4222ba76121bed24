import { chmod } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askingFlow, csvOf } from '../helpers/asking.ts';
import { readAllFiles, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { pageSession } from '../helpers/page-session.ts';
import { runThat, startRunOf } from '../helpers/served-runs.ts';
import { posting, servingHere as serving } from '../helpers/serving.ts';

const canary = 'canary-2b-41';
const printCanary = "printf 'can%s\\n' ary-2b-41";

/** Creates a workplace whose credential `crm` has a command. The command counts how often it runs. */
async function commandPlace(give: string): Promise<Workplace> {
  const place = await workplace();
  await write(place, give);
  await place.automate(['credentials', 'set', 'crm', '--command', place.path('give.sh')]);
  return place;
}

async function write(place: Workplace, give: string): Promise<void> {
  await place.write('give.sh', `#!/bin/sh\necho run >> '${place.path('runs')}'\n${give}\n`);
  await chmod(place.path('give.sh'), 0o755);
}

const runsOf = async (place: Workplace) => (await place.read('runs')).split('\n').length - 1;

const auth = ', auth: { type: bearer, credential: crm }';
const upstream = () => httpServer((_, response) => json(response, { name: 'x' }));

describe("a credential's command on the server", () => {
  test('runs once for all calls and runs', async () => {
    const { origin, requests } = await upstream();
    const place = await commandPlace(printCanary);
    const server = await serving({ ask: askingFlow(origin, auth) }, { place });
    const key = server.key();
    const call = () => server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1 }) });
    const answers = await Promise.all([call(), call(), call()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const run = await startRunOf(server, key, csvOf(3));
    await runThat(server, key, run, ({ state }) => state === 'finished');
    expect(new Set(requests.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${canary}`]));
    expect([requests.length, await runsOf(place)]).toEqual([6, 1]);
    expect([await readAllFiles(place), server.said()].filter((text) => text.includes(canary))).toEqual([]);
  });

  test("makes calls fail while the command fails, and the response contains only the credential's name", async () => {
    const { origin, requests } = await upstream();
    const place = await commandPlace(`${printCanary}; echo 'inner words' >&2; exit 1`);
    const server = await serving({ ask: askingFlow(origin, auth) }, { place });
    const key = server.key();
    const call = () => server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1 }) });
    const answer = await call();
    const text = await answer.text();
    expect([answer.status, JSON.parse(text)]).toEqual([
      503,
      expect.objectContaining({ type: '/problems/credential-missing', credential: 'crm' }),
    ]);
    expect(text).not.toContain('inner words');
    await write(place, printCanary);
    expect((await call()).status).toBe(200);
    expect(requests).toHaveLength(1);
  });

  test('makes a run fail if the command fails, and lets the run be resumed later', async () => {
    const { origin, requests } = await upstream();
    const place = await commandPlace(`${printCanary} >&2; ${printCanary}; exit 1`);
    const server = await serving({ ask: askingFlow(origin, auth) }, { place });
    const key = server.key();
    const run = await startRunOf(server, key, csvOf(3));
    const failed = await runThat(server, key, run, ({ state }) => state === 'failed' || state === 'stopped');
    expect(failed).toMatchObject({ exit_code: 7, resumable: true });
    expect(failed.reason).toContain('the command of the credential "crm" ended with exit code 1: ***');
    expect([requests.length, (await readAllFiles(place)).includes(canary)]).toEqual([0, false]);
    await write(place, printCanary);
    expect((await server.send(`/v1/runs/${run.id}/resume`, { key, method: 'POST' })).ok).toBe(true);
    await runThat(server, key, run, ({ state }) => state === 'finished');
    expect(requests).toHaveLength(3);
  });

  test('cannot be changed on the page, and does not run for other hosts', async () => {
    const { origin, requests } = await upstream();
    const place = await commandPlace(printCanary);
    const list = () => place.read('.automate/credentials.json');
    const before = await list();
    const ask = await pageSession(await serving({}, { place }));
    const given = { type: 'http', name: 'evil', url: origin, auth: { type: 'bearer', credential: 'crm' } };
    for (const secret of [{ secret: 'another' }, {}])
      for (const path of ['/ui/connections/tests', '/ui/connections'])
        expect((await ask(path, 'POST', { ...given, ...secret })).status).toBe(400);
    expect([await list(), requests.length, (await place.files()).includes('runs')]).toEqual([before, 0, false]);
  });
});

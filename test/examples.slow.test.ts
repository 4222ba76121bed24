import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDemoApi } from '../src/cli/demo-api.ts';
import { type Workplace, workplace } from './helpers/cli.ts';
import { startExampleServer } from './helpers/example-server.ts';
import { stdioServers } from './helpers/mcp/servers.ts';
import { serving } from './helpers/serving.ts';
import { shell, typed } from './helpers/shell.ts';

const examples = fileURLToPath(new URL('../examples/', import.meta.url));
const bin = fileURLToPath(new URL('../bin/automate.js', import.meta.url));

/** For each command in an example's README: its exit code, and its output files with the files that have the expected content. */
const expected: Readonly<Record<string, readonly { readonly code: number; readonly files: Readonly<Record<string, string>> }[]>> = {
  enrichment: [{ code: 0, files: { 'enriched.csv': 'expected.csv' } }],
  webhook: [{ code: 0, files: { 'delivered.ndjson': 'expected.ndjson' } }],
  'array-expansion': [{ code: 0, files: { 'airports.csv': 'expected.csv' } }],
  retry: [
    { code: 4, files: { 'positions.csv': 'expected.csv', 'positions.errors.csv': 'expected.errors.csv' } },
    { code: 4, files: { 'positions.csv': 'expected.retried.csv', 'positions.errors.csv': 'expected.retried.errors.csv' } },
  ],
  check: [{ code: 4, files: { 'checked.csv': 'expected.csv', 'checked.errors.csv': 'expected.errors.csv' } }],
  gone: [
    { code: 0, files: { 'watched.csv': 'expected.monday.csv', 'gone.csv': 'expected.header.csv' } },
    { code: 0, files: { 'watched.csv': 'expected.csv', 'gone.csv': 'expected.gone.csv' } },
    { code: 0, files: { 'removed.csv': 'expected.gone.csv' } },
  ],
  owners: [{ code: 0, files: { 'owned.csv': 'expected.csv' } }],
  transform: [{ code: 0, files: { 'stops.ndjson': 'expected.ndjson' } }],
  pipeline: [{ code: 0, files: { 'timezones.txt': 'expected.txt' } }],
  mcp: [{ code: 4, files: { 'weather.csv': 'expected.csv', 'failed.csv': 'expected.errors.csv' } }],
  cron: [{ code: 0, files: { 'watchlist.enriched.csv': 'expected.csv' } }],
  'cursor-loop': [{ code: 0, files: { 'airports.csv': 'expected.csv' } }],
  paginate: [{ code: 0, files: { 'airports.csv': 'expected.csv' } }],
  'export-job': [{ code: 4, files: { 'airports.csv': 'expected.csv', 'failed.csv': 'expected.errors.csv' } }],
  'batch-lookup': [{ code: 0, files: { 'routes.csv': 'expected.csv' } }],
  chains: [{ code: 0, files: { 'payments.enriched.csv': 'expected.csv' } }],
  'gps-log': [{ code: 0, files: { 'places.csv': 'expected.csv' } }],
  form: [{ code: 0, files: { 'subscribers.csv': 'expected.csv' } }],
  files: [{ code: 0, files: { 'saved.csv': 'expected.csv', 'airports/KEF.json': 'expected.KEF.json' } }],
  graphql: [{ code: 4, files: { 'airports.csv': 'expected.csv', 'airports.errors.csv': 'expected.errors.csv' } }],
  'income-by-address': [{ code: 0, files: { 'incomes.csv': 'expected.csv' } }],
  'store-locator': [{ code: 0, files: { 'shops.csv': 'expected.csv' } }],
  'support-tickets': [{ code: 0, files: { 'sorted.csv': 'expected.csv' } }],
  environments: [{ code: 0, files: { 'elevations.csv': 'expected.csv' } }],
  serve: [],
  'several-sources': [{ code: 0, files: { 'named.csv': 'expected.csv' } }],
  'two-apis': [{ code: 0, files: { 'destinations.csv': 'expected.csv' } }],
  workers: [{ code: 0, files: { 'enriched.csv': 'expected.csv' } }],
};

/** The example folders, except `servers`, whose script three of them use. */
const folders = (await readdir(examples, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory() && entry.name !== 'servers')
  .map(({ name }) => name);

/** The scripts of servers that some examples need in addition to the demo API, by the address in the flow. */
const scripts = { 'http://127.0.0.1:4011': 'graphql/server.mjs', 'http://127.0.0.1:4012': 'servers/start.mjs' };

test('every example has expected results', () => {
  expect(Object.keys(expected).sort()).toEqual(folders.sort());
});

/** Returns the command lines in an example's README, and the variables that the README sets. */
async function typedIn(name: string) {
  const lines = (await readFile(join(examples, name, 'README.md'), 'utf8')).match(/(?<=^ {4}).*/gm) ?? [];
  const settings = lines.filter((line) => line.startsWith('export ')).map((line) => line.slice('export '.length).split('='));
  return { commands: lines.filter((line) => !line.startsWith('export ')), env: Object.fromEntries(settings) };
}

/** Copies an example and starts servers for this copy alone, because the demo API remembers which records it has refused. */
async function playground(name: string): Promise<Workplace> {
  const api = await createDemoApi();
  onTestFinished(api.close);
  const place = await workplace();
  await cp(examples, place.folder, { recursive: true });
  const folder = name === 'serve' ? 'serve/flows' : name;
  const flows = (await readdir(join(examples, folder))).filter((file) => file.endsWith('.yaml') && !file.endsWith('.test.yaml'));
  for (const flow of flows) await aimAt(api.origin, place, `${folder}/${flow}`);
  return place;
}

/** Lets a flow send its requests to servers for this test alone. */
async function aimAt(api: string, place: Workplace, flow: string): Promise<void> {
  let text = (await place.read(flow)).replaceAll('http://127.0.0.1:4010', api);
  for (const [address, script] of Object.entries(scripts)) {
    // The port of the API can begin with the same digits.
    const written = new RegExp(`${address}(?!\\d)`, 'g');
    if (written.test(text)) text = text.replace(written, await startExampleServer(script));
  }
  // Starts the installed MCP server, because npx would download it.
  await place.write(flow, text.replace(/npx -y @modelcontextprotocol\/server-everything@\S+ stdio/, stdioServers.everything.join(' ')));
}

test('the examples of a loop and of paginate have the same result', async () => {
  const [loop, paginate] = ['cursor-loop', 'paginate'].map((name) => readFile(join(examples, name, 'expected.csv'), 'utf8'));
  expect(await paginate).toBe(await loop);
});

test('the flows of all examples pass their flow tests', async () => {
  const { code, stdout, stderr } = await (await workplace()).automate(['test', examples]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringMatching(/\n\d\d passed, 0 failed\n$/), stderr: '' });
});

describe('an example in the folder examples', () => {
  test.each(folders.filter((name) => name !== 'serve'))("writes the expected files with its README's commands: %s", async (name) => {
    const place = await playground(name);
    const { commands, env } = await typedIn(name);
    expect(commands).toHaveLength(expected[name]?.length ?? 0);
    for (const [index, { code, files }] of (expected[name] ?? []).entries()) {
      const command = commands[index] as string;
      // Worker processes get the variables of this process.
      const running = /^automate (?!.* --workers )/.test(command)
        ? typed(place, command, { env, cwd: name })
        : shell(place, `cd ${name}\n${command}`, { ...env, ...(name === 'pipeline' && { AUTOMATE: `node ${bin}` }) });
      const { stderr, ...finished } = await running;
      expect({ ...finished, stderr }).toMatchObject({ code, stdout: '' });
      if (command.includes('--quiet') && code === 0) expect(stderr).toBe('');
      for (const [made, wanted] of Object.entries(files)) {
        expect(await place.read(`${name}/${made}`)).toBe(await place.read(`${name}/${wanted}`));
      }
    }
  });
});

test('the example "serve" responds to its README\'s curl commands', async () => {
  const place = await playground('serve');
  const [, serve, create = '', ...curls] = (await typedIn('serve')).commands;
  const { address } = await serving({}, { place, folder: 'serve/flows' });
  expect(serve).toBe('automate serve flows');
  const asked = curls.map((line) => line.replace('http://127.0.0.1:4020', address));
  const { code, stdout, stderr } = await shell(place, ['cd serve', create, ...asked].join('\necho\n'));
  expect([code, stderr]).toEqual([0, expect.stringContaining('the key "crm" has the scope run for enrich')]);
  const [call, rows] = [await place.read('serve/expected.json'), await place.read('serve/expected.csv')];
  expect(stdout.replaceAll(/\n+/g, '\n').trim()).toBe(`${call}${rows}`.trim());
});

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { collections, requestNames } from './recorded/collections.ts';
import { recordings } from './recorded/recordings.ts';

/** Returns the secrets that stand in one of the texts, also in other encodings. */
function secretsIn(secrets: readonly string[], texts: readonly string[]): string[] {
  const forms = (secret: string) => [secret, encodeURIComponent(secret), decodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return secrets.filter((secret) => forms(secret).some((form) => texts.some((text) => text.includes(form))));
}

async function writtenTexts({ folder }: Workplace, name: string): Promise<string[]> {
  const files = await readdir(join(folder, name)).catch(() => []);
  return Promise.all(files.map((file) => readFile(join(folder, name, file), 'utf8')));
}

async function expectCleanFlow(place: Workplace, secrets: readonly string[], options: readonly string[]): Promise<void> {
  await rm(place.path('new'), { recursive: true, force: true });
  const made = await place.automate(['init', 'new', ...options]);
  expect([made.code, made.stderr]).toEqual([0, expect.any(String)]);
  const texts = await writtenTexts(place, 'new');
  if (process.env.SHOW && !options.includes('--in')) console.log(made.stderr, texts.join('\n---\n'));
  expect(secretsIn(secrets, [made.stdout, made.stderr, ...texts])).toEqual([]);
  expect(await place.automate(['validate', 'new/flow.yaml', '--offline'])).toMatchObject({ code: 0 });
}

describe.each(recordings)('a recording of $tool', ({ document, secrets, calls }) => {
  test('is listed with its calls of an API, and without secrets', async () => {
    const place = await workplace({ 'a.har': JSON.stringify(document) });
    const { code, stdout, stderr } = await place.automate(['init', '--from-har', 'a.har']);
    expect([code, secretsIn(secrets, [stdout, stderr])]).toEqual([0, []]);
    expect([...stdout.matchAll(/^(\d+) /gm)].map(([, number]) => Number(number)).slice(0, calls.length)).toEqual(calls);
  });

  test.each(calls)('becomes a valid flow without secrets: entry %i', async (number) => {
    const place = await workplace({ 'a.har': JSON.stringify(document), 'rows.csv': 'code\nx\n' });
    for (const input of [[], ['--in', 'rows.csv']])
      await expectCleanFlow(place, secrets, ['--from-har', 'a.har', '--entry', String(number), ...input]);
  });
});

describe.each(collections)('a collection $version', ({ document, secrets }) => {
  test('is listed without secrets', async () => {
    const place = await workplace({ 'c.json': JSON.stringify(document) });
    const { code, stdout, stderr } = await place.automate(['init', '--from-postman', 'c.json']);
    expect([code, secretsIn(secrets, [stdout, stderr])]).toEqual([0, []]);
    expect(requestNames.filter((name) => !stdout.includes(name))).toEqual([]);
  });

  test.each(requestNames)('becomes a valid flow without secrets: %s', async (name) => {
    const place = await workplace({ 'c.json': JSON.stringify(document), 'rows.csv': 'code\nx\n' });
    for (const input of [[], ['--in', 'rows.csv']]) await expectCleanFlow(place, secrets, ['--from-postman', 'c.json', '--request', name, ...input]);
  });
});

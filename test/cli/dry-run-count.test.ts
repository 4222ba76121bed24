import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countableFile, countOn } from '../../src/cli/dry-run/dry-run-count.ts';
import { lookThroughLines, lookThroughTable } from '../../src/cli/dry-run/dry-run-rows.ts';
import type { Item } from '../../src/core/item.ts';
import { createForecaster, type Forecaster } from '../../src/engine/forecast/forecast.ts';
import { compile } from '../../src/flow/compile.ts';
import { openSource, type Position } from '../../src/io/records/readers/source.ts';
import { nodeTypes } from '../../src/nodes/index.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';

const flow = 'nodes: [{ type: http, url: "https://api.example.com/{{a}}", headers: { X-B: "{{b}}" } }]';
const forecaster = () => createForecaster(compile(flow, { file: 'f', nodeTypes, allowHttp: false, textCells: true }), { shown: 1 });
const open = (path: string, from?: Position) => openSource({ path, stdin: Readable.from([]), from });

async function addAll(path: string, to: Forecaster, from?: Position, first = Number.POSITIVE_INFINITY): Promise<Item | undefined> {
  const source = await open(path, from);
  let read = 0;
  for await (const items of source.batches()) {
    for (const item of items) {
      await to.add(item);
      if (++read >= first) return item;
    }
  }
  return undefined;
}

/** Counts behind the first record, and reads on where counting gave up. Answers what came of it, and whether it gave up. */
async function counted(place: Workplace, name: string) {
  const path = place.path(name);
  const to = forecaster();
  const first = await addAll(path, to, undefined, 1);
  if (!first) throw new Error('there is no record');
  const source = await open(path);
  await source.close();
  const file = await countableFile({ in: path }, source, ['a', 'b']);
  if (!file) throw new Error('it cannot be counted');
  const rest = await countOn(file, { ...first.end, records: 1 }, Number.POSITIVE_INFINITY, to);
  if (rest) await addAll(path, to, rest);
  return { forecast: to.forecast(), gaveUp: rest !== undefined };
}

async function read(place: Workplace, name: string) {
  const to = forecaster();
  await addAll(place.path(name), to);
  return to.forecast();
}

const outcome = <Result>(act: Promise<Result>): Promise<Result | string> => act.catch((error: Error) => error.message);

/** Counting and reading must come to the same, an error included. */
async function compare(name: string, head: string, bodies: fc.Arbitrary<string>, runs: number) {
  const place = await workplace();
  let countedOnes = 0;
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      await place.write(name, head + body);
      const found = await outcome(counted(place, name));
      expect(typeof found === 'string' ? found : found.forecast).toEqual(await outcome(read(place, name)));
      if (typeof found !== 'string' && !found.gaveUp) countedOnes++;
    }),
    { numRuns: runs },
  );
  expect(countedOnes).toBeGreaterThan(runs / 4);
}

const letters = ['x', 'y', '.', '..', ',', '\n', '\r\n', '\r', '"', '""', ' ', '\t', 'ü', '\u0085', '\u00a0', '\u007f', '\0'];

test('rows of any letters come to what the real reader says', async () => {
  const cell = fc.oneof(
    fc.constantFrom('x', 'yy', '5', 'ü', '', '.', '..'),
    fc.string({ unit: fc.constantFrom(...letters.filter((letter) => !letter.includes('"'))), maxLength: 4 }).map((text) => `"${text}"`),
  );
  const row = fc.array(cell, { minLength: 1, maxLength: 4 }).map((cells) => cells.join(','));
  const rows = fc.array(row).chain((list) => fc.constantFrom('\n', '\r\n', '\r').map((end) => list.join(end)));
  const anything = fc.array(fc.constantFrom(...letters), { maxLength: 30 }).map((parts) => parts.join(''));
  await compare('rows.csv', 'a,b,c\nx,y,z\n', fc.oneof(rows, rows, anything), 150);
});

test('lines of any JSON come to what the real reader says', async () => {
  const value = fc.oneof(fc.constantFrom('x', '..', '', '\n', null, true, [1], { y: 1 }, 1e300), fc.double());
  const record = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', '_error', '_error_class'), value);
  const line = fc.oneof(
    { weight: 6, arbitrary: fc.record({ a: fc.string({ minLength: 1 }), b: fc.nat() }).map((given) => JSON.stringify(given)) },
    record.map((given) => JSON.stringify(given)),
    fc.constantFrom('', ' \t\r', '[]', '{', '"a"', '{"a":1.50,"b":12345678901234567890}', '{"a":1e999,"b":2}', '{"a":"\\ud800","b":1}'),
    fc.constantFrom(`{"a":1,"b":2,"c":${'['.repeat(1100)}${']'.repeat(1100)}}`, '{"_error":{"class":"input"},"a":1,"b":2}'),
  );
  const lines = fc.array(line).map((list) => list.join('\n'));
  await compare('rows.ndjson', '{"a":1,"b":2}\n', lines, 150);
});

test('where a text is cut makes no difference', () => {
  const start = { offset: 0, line: 0, records: 0 };
  const table = lookThroughTable(',', [true, false]);
  const lines = lookThroughLines(['a']);
  const parts = fc.array(fc.constantFrom(...letters, '{"a":1}\n', 'x,y\r\n', '"a""\n",b\n', '1,2'), { maxLength: 20 });
  fc.assert(
    fc.property(fc.constantFrom(table, lines), parts, fc.nat(40), (look, given, cut) => {
      const text = Buffer.from(given.join(''));
      const whole = look(text, start, 1000, true);
      const before = look(text.subarray(0, cut), start, 1000, false);
      if (before.isOdd) return;
      const after = look(text.subarray(before.bytes), before.to, 1000, true);
      expect(before.plain + after.plain).toBe(whole.plain);
      expect([...before.doubtful, ...after.doubtful]).toEqual(whole.doubtful);
      expect([after.to, after.isOdd]).toEqual([whole.to, whole.isOdd]);
    }),
    { numRuns: 1500 },
  );
});

test('columns of an errors file, other encodings and odd delimiters are left to the real reader', async () => {
  const place = await workplace({ 'rows.csv': 'a,b,_error_class\n1,2,input\n', 'plain.csv': 'a,b\n1,2\n' });
  const asked = async (name: string, more = {}) => {
    const source = await open(place.path(name));
    await source.close();
    return (await countableFile({ in: place.path(name), ...more }, source, ['a'])) !== undefined;
  };
  expect(await asked('plain.csv')).toBe(true);
  expect(await asked('rows.csv')).toBe(false);
  expect(await asked('plain.csv', { encoding: 'latin1' })).toBe(false);
  expect(await asked('plain.csv', { delimiter: '§' })).toBe(false);
});

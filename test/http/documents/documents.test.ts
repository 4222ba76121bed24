import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createDocuments } from '../../../src/http/documents/documents.ts';

const xml = (length: number) => `<a>${'x'.repeat(length)}</a>`;
const csv = (length: number) => `a\n${'x'.repeat(length)}\n`;

describe('a long document', () => {
  test.each([
    ['xml', xml(650_000)],
    ['csv', csv(650_000)],
    ['rows', csv(650_000)],
  ] as const)('lets others continue after every 8192 characters: %s', async (kind, text) => {
    let turns = 0;
    const documents = createDocuments({ yieldIfLong: () => nextTurn().then(() => void turns++) });
    await documents.parse(kind, text);
    expect(turns).toBeGreaterThanOrEqual(79);
  });

  test('lets others continue after every 1000 names of a CSV header, and after every 1000 cells of its rows', async () => {
    const names = ['__proto__', ...Array.from({ length: 5_000 }, (_, index) => `n${index}`)];
    const turnsFor = async (text: string) => {
      let turns = 0;
      const documents = createDocuments({ yieldIfLong: () => void turns++ });
      const rows = await documents.parse('csv', text);
      return { rows, turns };
    };
    const chunks = (text: string) => Math.ceil(text.length / 8192);
    const header = `${names.join(',')}\n`;
    const cells = `${names.map((_, index) => index).join(',')}\n`;
    const one = await turnsFor(header);
    expect(one.turns).toBeGreaterThanOrEqual(chunks(header) + 5);
    const three = await turnsFor(header + cells + cells);
    expect(three.turns).toBeGreaterThanOrEqual(chunks(header + cells + cells) + 15);
    const row = Object.fromEntries(names.map((name, index) => [name, String(index)]));
    expect(JSON.stringify(three.rows)).toBe(JSON.stringify([row, row]));
  });

  test('of more than 1,000,000 characters waits for others of this size, even if they are not valid, but short ones do not', async () => {
    const ended: string[] = [];
    let stop = true;
    const documents = createDocuments({ yieldIfLong: () => (stop ? nextTurn() : undefined) });
    const read = (name: string, kind: 'xml' | 'csv', text: string) =>
      documents.parse(kind, text).then(
        () => ended.push(name),
        () => ended.push(`${name} failed`),
      );
    const all = [
      read('first', 'xml', `${xml(1_000_000)}<`),
      read('second', 'xml', xml(1_000_000)),
      read('third', 'xml', xml(1_000_000)),
      read('short', 'csv', csv(10)),
    ];
    await all[3];
    expect(ended).toEqual(['short']);
    await all[0];
    stop = false;
    await Promise.all(all);
    expect(ended).toEqual(['short', 'first failed', 'second', 'third']);
  });
});

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readXlsx } from 'hucre/xlsx';
import { expect, test } from 'vitest';
import type { Device } from '../../src/output/sink.ts';
import { SpillFiles } from '../../src/output/spill.ts';
import { createXlsxSink, type XlsxSinkOptions } from '../../src/output/xlsx-sink.ts';

/** Creates a file in memory. After `fails` writes, every write fails. */
function memory(fails = Number.POSITIVE_INFINITY) {
  const chunks: Buffer[] = [];
  let isClosed = false;
  const device: Device = {
    async write(bytes) {
      if (chunks.push(Buffer.from(bytes)) > fails)
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    },
    sync: async () => {},
    close: async () => {
      isClosed = true;
    },
  };
  return { device, bytes: () => Buffer.concat(chunks), isClosed: () => isClosed };
}

/** Creates a sink whose waiting rows move to an unlinked file once they are long. */
function sinkOf(device: Device, options?: XlsxSinkOptions) {
  return createXlsxSink('out.xlsx', device, new SpillFiles(() => join(tmpdir(), randomUUID())).newText(), options);
}

test("a workbook's rows continue on a new sheet with the same header when a sheet is full", async () => {
  const text = ['["a","b"]', '["x",1]', '["y",3]', '["z",""]', '["",5]', '["u",2]'].map((line) => `${line}\n`).join('');
  for (const size of [1, 5, text.length]) {
    const { device, bytes, isClosed } = memory();
    const sink = sinkOf(device, { maxRows: 3 });
    for (let at = 0; at < text.length; at += size) await sink.write(text.slice(at, at + size));
    await sink.sync();
    await sink.close();
    expect([sink.written.text, sink.written.bytes, isClosed()]).toEqual([text.length, bytes().length, true]);
    const { sheets } = await readXlsx(bytes());
    expect(sheets.map(({ name, rows }) => [name, rows])).toEqual([
      [
        'Sheet1',
        [
          ['a', 'b'],
          ['x', 1],
          ['y', 3],
        ],
      ],
      [
        'Sheet2',
        [
          ['a', 'b'],
          ['z', null],
          [null, 5],
        ],
      ],
      [
        'Sheet3',
        [
          ['a', 'b'],
          ['u', 2],
        ],
      ],
    ]);
  }
});

test('the same rows make the same workbook, byte for byte, and a workbook without rows has one sheet', async () => {
  const made = await Promise.all(
    [1, 2].map(async () => {
      const { device, bytes } = memory();
      const sink = sinkOf(device);
      await sink.write('["a"]\n');
      await sink.close();
      return bytes().toString('hex');
    }),
  );
  expect(made[0]).toBe(made[1]);
  const { device, bytes } = memory();
  await sinkOf(device).close();
  expect((await readXlsx(bytes())).sheets).toHaveLength(1);
});

async function cellsOf(rows: readonly unknown[][], options?: XlsxSinkOptions): Promise<unknown[][] | undefined> {
  const { device, bytes } = memory();
  const sink = sinkOf(device, options);
  for (const row of [['a', 'b', 'c'], ...rows]) await sink.write(`${JSON.stringify(row)}\n`);
  await sink.close();
  return (await readXlsx(bytes())).sheets[0]?.rows.slice(1);
}

test('a column of a workbook keeps its numbers or booleans only if it contains nothing else', async () => {
  const rows = [
    [1, true, ['1.50']],
    ['', '', ''],
    [['2.0'], false, 3],
  ];
  expect(await cellsOf(rows)).toEqual([
    [1, true, 1.5],
    [null, null, null],
    [2, false, 3],
  ]);
  expect(await cellsOf([...rows, ['x', 1, true]])).toEqual([
    ['1', 'true', '1.50'],
    [null, null, null],
    ['2.0', 'false', '3'],
    ['x', '1', 'true'],
  ]);
  expect(await cellsOf(rows, { isText: true })).toEqual([
    ['1', 'true', '1.50'],
    [null, null, null],
    ['2.0', 'false', '3'],
  ]);
});

test('the last row of a workbook decides about the first one, although the rows are on disk until then', async () => {
  const rows = Array.from({ length: 6_000 }, (_, at) => [at, at, 'some text in every row '.repeat(10)]);
  const { device, bytes } = memory();
  const waiting = new SpillFiles(() => join(tmpdir(), randomUUID())).newText();
  const sink = createXlsxSink('out.xlsx', device, waiting, { maxRows: 4_000 });
  for (const row of [['a', 'b', 'c'], ...rows, [1, 'x', '']]) {
    await sink.write(`${JSON.stringify(row)}\n`);
    expect(waiting.held).toBeLessThan(300_000);
  }
  expect(bytes().length).toBeLessThan(1000);
  await sink.close();
  const [first, second] = (await readXlsx(bytes())).sheets.map((sheet) => sheet.rows);
  expect(first?.slice(0, 2)).toEqual([
    ['a', 'b', 'c'],
    [0, '0', rows[0]?.[2]],
  ]);
  expect(second?.slice(-2)).toEqual([
    [5_999, '5999', rows[0]?.[2]],
    [1, 'x', null],
  ]);
});

test('a full disk ends the writing of a workbook, and the message names the file', async () => {
  const { device, isClosed } = memory(3);
  const sink = sinkOf(device);
  const row = () => `["${Array.from({ length: 500 }, () => Math.random()).join(' ')}"]\n`;
  for (let at = 0; at < 200; at++) await sink.write(row());
  await expect(sink.close()).rejects.toMatchObject({ kind: 'output', message: expect.stringContaining('out.xlsx cannot be written') });
  expect(isClosed()).toBe(true);
});

test('a workbook whose waiting rows cannot be stored is not written without them', async () => {
  const { device, bytes, isClosed } = memory();
  const sink = createXlsxSink('out.xlsx', device, new SpillFiles(() => join(tmpdir(), randomUUID(), 'rows')).newText());
  const line = `["${'x'.repeat(300_000)}"]\n`;
  await expect(sink.write(line)).rejects.toMatchObject({ kind: 'output' });
  await expect(sink.write(line)).rejects.toMatchObject({ kind: 'output' });
  await expect(sink.close()).rejects.toMatchObject({ kind: 'output' });
  expect([isClosed(), bytes().includes('xl/workbook.xml')]).toEqual([true, false]);
});

import { readXlsx } from 'hucre/xlsx';
import { expect, test } from 'vitest';
import type { Device } from '../../../src/io/output/sink.ts';
import { createXlsxSink } from '../../../src/io/output/xlsx-sink.ts';

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

test("a workbook's rows continue on a new sheet with the same header when a sheet is full", async () => {
  const text = ['["a","b"]', '["x",1]', '["y",true]', '["z",""]', '["","w"]', '[1,2]'].map((line) => `${line}\n`).join('');
  for (const size of [1, 5, text.length]) {
    const { device, bytes, isClosed } = memory();
    const sink = createXlsxSink('out.xlsx', device, 3);
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
          ['y', true],
        ],
      ],
      [
        'Sheet2',
        [
          ['a', 'b'],
          ['z', null],
          [null, 'w'],
        ],
      ],
      [
        'Sheet3',
        [
          ['a', 'b'],
          [1, 2],
        ],
      ],
    ]);
  }
});

test('the same rows make the same workbook, byte for byte, and a workbook without rows has one sheet', async () => {
  const made = await Promise.all(
    [1, 2].map(async () => {
      const { device, bytes } = memory();
      const sink = createXlsxSink('out.xlsx', device);
      await sink.write('["a"]\n');
      await sink.close();
      return bytes().toString('hex');
    }),
  );
  expect(made[0]).toBe(made[1]);
  const { device, bytes } = memory();
  await createXlsxSink('out.xlsx', device).close();
  expect((await readXlsx(bytes())).sheets).toHaveLength(1);
});

test('a full disk ends the writing of a workbook, and the message names the file', async () => {
  const { device, isClosed } = memory(3);
  const sink = createXlsxSink('out.xlsx', device);
  const row = () => `["${Array.from({ length: 500 }, () => Math.random()).join(' ')}"]\n`;
  const writing = (async () => {
    for (let at = 0; at < 2000; at++) await sink.write(row());
  })();
  await expect(writing).rejects.toMatchObject({ kind: 'output', message: expect.stringContaining('out.xlsx cannot be written') });
  await expect(sink.close()).rejects.toMatchObject({ kind: 'output' });
  expect(isClosed()).toBe(true);
});

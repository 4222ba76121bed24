import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSpillFiles, type SpilledText } from '../../../src/io/output/spill.ts';

/** io/records/part: more than that of one part does not stay in memory. */
const mostHeld = 256 * 1024;

/** Parts whose files are made in a folder of their own. */
async function makeParts() {
  const folder = await mkdtemp(join(tmpdir(), 'automate-part-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let files = 0;
  const { part } = createSpillFiles(() => join(folder, `${files++}`));
  return { part, folder, files: () => files };
}

async function textOf(part: SpilledText): Promise<string> {
  const texts: string[] = [];
  for await (const text of part.texts()) texts.push(text);
  return texts.join('');
}

/** The descriptors of files that once stood in a folder. */
async function openFiles(folder: string): Promise<string[]> {
  const names = await readdir('/proc/self/fd');
  const open = await Promise.all(names.map(async (name) => [name, await readlink(`/proc/self/fd/${name}`).catch(() => '')] as const));
  return open.flatMap(([name, target]) => (target.startsWith(folder) ? [`/proc/self/fd/${name}`] : []));
}

const canLook = existsSync('/proc/self/fd');

describe('a short text', () => {
  test('stays in memory', async () => {
    const { part, files } = await makeParts();
    const short = part();
    await short.add('a');
    await short.add('');
    await short.add('b\n');
    expect([short.held, await textOf(short), files()]).toEqual([3, 'ab\n', 0]);
  });

  test('may be none at all', async () => {
    const { part } = await makeParts();
    expect([part().held, await textOf(part())]).toEqual([0, '']);
  });

  test('is gone when it is dropped, and nothing can be added any more', async () => {
    const { part } = await makeParts();
    const short = part();
    await short.add('abc');
    short.drop();
    short.drop();
    await short.add('def');
    expect([short.held, await textOf(short)]).toEqual([0, '']);
  });
});

describe('a long text', () => {
  test('waits in one file, and what comes behind it in memory', async () => {
    const { part, files } = await makeParts();
    const long = part();
    const piece = 'x'.repeat(100_000);
    for (let count = 1; count <= 8; count++) await long.add(`${count}${piece}`);
    expect([files(), long.held]).toEqual([1, 2 * 100_001]);
    expect(await textOf(long)).toBe([1, 2, 3, 4, 5, 6, 7, 8].map((count) => count + piece).join(''));
    expect(await textOf(long)).toHaveLength(8 * 100_001);
    long.drop();
  });

  test.runIf(canLook)('has a file without a name, for nobody else', async () => {
    const { part, folder } = await makeParts();
    const long = part();
    await long.add('x'.repeat(mostHeld + 1));
    expect(await readdir(folder)).toEqual([]);
    const [file, ...more] = await openFiles(folder);
    expect(more).toEqual([]);
    const { mode, size, nlink } = await stat(file ?? '');
    expect([mode & 0o777, size, nlink]).toEqual([0o600, mostHeld + 1, 0]);
    long.drop();
    await expect.poll(() => openFiles(folder)).toEqual([]);
  });

  test('comes in pieces, however long it is', async () => {
    const { part } = await makeParts();
    const long = part();
    const line = `${'line '.repeat(20)}\n`;
    for (let count = 0; count < 2000; count++) await long.add(line.repeat(100));
    let longest = 0;
    let length = 0;
    for await (const text of long.texts()) {
      longest = Math.max(longest, text.length);
      length += text.length;
    }
    expect(length).toBe(2000 * 100 * line.length);
    expect(longest).toBeLessThan(2 * mostHeld);
    long.drop();
  });

  test('of any characters comes back as it was', async () => {
    const { part } = await makeParts();
    const piece = fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 60_000 }));
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        const texts = pieces.map(([text, times]) => text.repeat(Math.ceil(times / text.length)));
        const long = part();
        for (const text of texts) await long.add(text);
        expect((await textOf(long)) === texts.join('')).toBe(true);
        long.drop();
      }),
      { numRuns: 50 },
    );
  });

  test('that cannot be kept ends the run with the reason, and is dropped all the same', async () => {
    const { part } = createSpillFiles(() => join(tmpdir(), 'automate-no-such-folder', 'part'));
    const long = part();
    await expect(long.add('x'.repeat(mostHeld + 1))).rejects.toMatchObject({
      kind: 'output',
      message: expect.stringMatching(/^the temporary file for waiting rows cannot be written: .*ENOENT/),
    });
    long.drop();
  });
});

describe('many at once', () => {
  test('do not stay in memory together, though each is short', async () => {
    const { part, folder } = await makeParts();
    const parts = Array.from({ length: 200 }, part);
    const piece = 'ä'.repeat(20_000);
    for (const [index, one] of parts.entries()) for (let count = 0; count < 3; count++) await one.add(`${index}${piece}`);
    const held = parts.reduce((sum, one) => sum + one.held, 0);
    expect(held).toBeLessThan(5 * 1024 * 1024);
    expect(await readdir(folder)).toEqual([]);
    for (const [index, one] of parts.entries()) expect((await textOf(one)) === `${index}${piece}`.repeat(3)).toBe(true);
    for (const one of parts) one.drop();
  });

  test('leave what is very short alone', async () => {
    const { part, files } = await makeParts();
    const parts = Array.from({ length: 2000 }, part);
    for (const one of parts) await one.add('x'.repeat(5000));
    expect([files(), parts.every(({ held }) => held === 5000)]).toEqual([0, true]);
  });

  test('one that is dropped makes room for the others', async () => {
    const { part, files } = await makeParts();
    const first = Array.from({ length: 20 }, part);
    for (const one of first) await one.add('x'.repeat(200_000));
    for (const one of first) one.drop();
    const second = Array.from({ length: 20 }, part);
    for (const one of second) await one.add('x'.repeat(200_000));
    expect(files()).toBe(0);
  });

  test('one that is dropped, even twice, leaves the file to those that share it', async () => {
    const { part } = await makeParts();
    const parts = Array.from({ length: 33 }, part);
    for (const one of parts) await one.add('x'.repeat(mostHeld + 1));
    const last = parts.pop() as SpilledText;
    for (const one of [...parts, ...parts]) one.drop();
    await last.add('y'.repeat(mostHeld + 1));
    expect((await textOf(last)) === 'x'.repeat(mostHeld + 1) + 'y'.repeat(mostHeld + 1)).toBe(true);
    last.drop();
  });

  test('one after another, each finds a file that is open', async () => {
    const { part } = await makeParts();
    for (let count = 0; count < 40; count++) {
      const one = part();
      await one.add(`${count}`.padStart(mostHeld + 1, 'x'));
      expect((await textOf(one)).endsWith(`x${count}`)).toBe(true);
      one.drop();
    }
  });

  test.runIf(canLook)('share files, and leave none open', async () => {
    const { part, folder } = await makeParts();
    const parts = Array.from({ length: 50 }, part);
    await Promise.all(parts.map((one) => one.add('x'.repeat(mostHeld + 1))));
    await Promise.all(parts.map((one, index) => one.add(`${index}`.padStart(mostHeld + 1, 'y'))));
    expect(await openFiles(folder)).toHaveLength(32);
    const texts = await Promise.all(parts.map(textOf));
    expect(texts.every((text, index) => text === 'x'.repeat(mostHeld + 1) + `${index}`.padStart(mostHeld + 1, 'y'))).toBe(true);
    for (const one of parts) one.drop();
    await expect.poll(() => openFiles(folder)).toEqual([]);
  });
});

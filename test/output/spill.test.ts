import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type SpilledText, SpillFiles } from '../../src/output/spill.ts';

/** The number of characters that one text can keep in memory (output/spill). */
const maxHeld = 256 * 1024;

/** Creates texts that can be moved to disk. Their files are in a separate folder. */
async function makeTexts() {
  const folder = await mkdtemp(join(tmpdir(), 'automate-part-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let files = 0;
  const spillFiles = new SpillFiles(() => join(folder, `${files++}`));
  return { newText: () => spillFiles.newText(), folder, files: () => files };
}

async function contentOf(spilled: SpilledText): Promise<string> {
  const texts: string[] = [];
  for await (const text of spilled.texts()) texts.push(text);
  return texts.join('');
}

/** Returns the file descriptors of open files that were created in a folder. */
async function openFiles(folder: string): Promise<string[]> {
  const names = await readdir('/proc/self/fd');
  const open = await Promise.all(names.map(async (name) => [name, await readlink(`/proc/self/fd/${name}`).catch(() => '')] as const));
  return open.flatMap(([name, target]) => (target.startsWith(folder) ? [`/proc/self/fd/${name}`] : []));
}

const canLook = existsSync('/proc/self/fd');

describe('a short piece of text that can be moved to disk', () => {
  test('stays in memory', async () => {
    const { newText, files } = await makeTexts();
    const short = newText();
    await short.add('a');
    await short.add('');
    await short.add('b\n');
    expect([short.held, await contentOf(short), files()]).toEqual([3, 'ab\n', 0]);
  });

  test('can be empty', async () => {
    const { newText } = await makeTexts();
    expect([newText().held, await contentOf(newText())]).toEqual([0, '']);
  });

  test('becomes empty when it is dropped, and then accepts no more text', async () => {
    const { newText } = await makeTexts();
    const short = newText();
    await short.add('abc');
    short.drop();
    short.drop();
    await short.add('def');
    expect([short.held, await contentOf(short)]).toEqual([0, '']);
  });
});

describe('a long piece of text that is moved to disk', () => {
  test('is stored in one file, except for its end in memory', async () => {
    const { newText, files } = await makeTexts();
    const long = newText();
    const piece = 'x'.repeat(100_000);
    for (let count = 1; count <= 8; count++) await long.add(`${count}${piece}`);
    expect([files(), long.held]).toEqual([1, 2 * 100_001]);
    expect(await contentOf(long)).toBe([1, 2, 3, 4, 5, 6, 7, 8].map((count) => count + piece).join(''));
    expect(await contentOf(long)).toHaveLength(8 * 100_001);
    long.drop();
  });

  test.runIf(canLook)('is stored in a file without a name that only its owner can read', async () => {
    const { newText, folder } = await makeTexts();
    const long = newText();
    await long.add('x'.repeat(maxHeld + 1));
    expect(await readdir(folder)).toEqual([]);
    const [file, ...more] = await openFiles(folder);
    expect(more).toEqual([]);
    const { mode, size, nlink } = await stat(file ?? '');
    expect([mode & 0o777, size, nlink]).toEqual([0o600, maxHeld + 1, 0]);
    long.drop();
    await expect.poll(() => openFiles(folder)).toEqual([]);
  });

  test('is read in pieces, however long it is', async () => {
    const { newText } = await makeTexts();
    const long = newText();
    const line = `${'line '.repeat(20)}\n`;
    for (let count = 0; count < 2000; count++) await long.add(line.repeat(100));
    let longest = 0;
    let length = 0;
    for await (const text of long.texts()) {
      longest = Math.max(longest, text.length);
      length += text.length;
    }
    expect(length).toBe(2000 * 100 * line.length);
    expect(longest).toBeLessThan(2 * maxHeld);
    long.drop();
  });

  test('is read back unchanged, whatever characters it contains', async () => {
    const { newText } = await makeTexts();
    const piece = fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 60_000 }));
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        const texts = pieces.map(([text, times]) => text.repeat(Math.ceil(times / text.length)));
        const long = newText();
        for (const text of texts) await long.add(text);
        expect((await contentOf(long)) === texts.join('')).toBe(true);
        long.drop();
      }),
      { numRuns: 50 },
    );
  });

  test('fails with the reason if it cannot be written, and can still be dropped', async () => {
    const long = new SpillFiles(() => join(tmpdir(), 'automate-no-such-folder', 'part')).newText();
    await expect(long.add('x'.repeat(maxHeld + 1))).rejects.toMatchObject({
      kind: 'output',
      message: expect.stringMatching(/^the temporary file for waiting rows cannot be written: .*ENOENT/),
    });
    long.drop();
  });
});

describe('many pieces of text that can be moved to disk', () => {
  test('are written to disk if their total size is large, even if each is short', async () => {
    const { newText, folder } = await makeTexts();
    const parts = Array.from({ length: 200 }, newText);
    const piece = 'ä'.repeat(20_000);
    for (const [index, one] of parts.entries()) for (let count = 0; count < 3; count++) await one.add(`${index}${piece}`);
    const held = parts.reduce((sum, one) => sum + one.held, 0);
    expect(held).toBeLessThan(5 * 1024 * 1024);
    expect(await readdir(folder)).toEqual([]);
    for (const [index, one] of parts.entries()) expect((await contentOf(one)) === `${index}${piece}`.repeat(3)).toBe(true);
    for (const one of parts) one.drop();
  });

  test('stay in memory if they are very short', async () => {
    const { newText, files } = await makeTexts();
    const parts = Array.from({ length: 2000 }, newText);
    for (const one of parts) await one.add('x'.repeat(5000));
    expect([files(), parts.every(({ held }) => held === 5000)]).toEqual([0, true]);
  });

  test('can be kept in memory once other pieces are dropped', async () => {
    const { newText, files } = await makeTexts();
    const first = Array.from({ length: 20 }, newText);
    for (const one of first) await one.add('x'.repeat(200_000));
    for (const one of first) one.drop();
    const second = Array.from({ length: 20 }, newText);
    for (const one of second) await one.add('x'.repeat(200_000));
    expect(files()).toBe(0);
  });

  test('are not affected if a piece in the same file is dropped, even twice', async () => {
    const { newText } = await makeTexts();
    const parts = Array.from({ length: 33 }, newText);
    for (const one of parts) await one.add('x'.repeat(maxHeld + 1));
    const last = parts.pop() as SpilledText;
    for (const one of [...parts, ...parts]) one.drop();
    await last.add('y'.repeat(maxHeld + 1));
    expect((await contentOf(last)) === 'x'.repeat(maxHeld + 1) + 'y'.repeat(maxHeld + 1)).toBe(true);
    last.drop();
  });

  test('use several open files in turn', async () => {
    const { newText } = await makeTexts();
    for (let count = 0; count < 40; count++) {
      const one = newText();
      await one.add(`${count}`.padStart(maxHeld + 1, 'x'));
      expect((await contentOf(one)).endsWith(`x${count}`)).toBe(true);
      one.drop();
    }
  });

  test.runIf(canLook)('share 32 files, which are closed when the pieces are dropped', async () => {
    const { newText, folder } = await makeTexts();
    const parts = Array.from({ length: 50 }, newText);
    await Promise.all(parts.map((one) => one.add('x'.repeat(maxHeld + 1))));
    await Promise.all(parts.map((one, index) => one.add(`${index}`.padStart(maxHeld + 1, 'y'))));
    expect(await openFiles(folder)).toHaveLength(32);
    const texts = await Promise.all(parts.map(contentOf));
    expect(texts.every((text, index) => text === 'x'.repeat(maxHeld + 1) + `${index}`.padStart(maxHeld + 1, 'y'))).toBe(true);
    for (const one of parts) one.drop();
    await expect.poll(() => openFiles(folder)).toEqual([]);
  });
});

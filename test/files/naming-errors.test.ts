import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AutomateError } from '../../src/core/failure.ts';
import { besideOutput, namingErrors } from '../../src/files/naming-errors.ts';

function fail(code: string, path: string): never {
  throw Object.assign(new Error(`${code}: some reason, open '${path}'`), { code });
}

test.each([
  ['/nowhere/at/all', 'ENOENT', 'the folder /nowhere/at does not exist'],
  ['/dev/null/file', 'ENOTDIR', '/dev/null is not a folder'],
  ['/tmp', 'EACCES', 'it is a folder'],
  ['/tmp/a', 'ENOSPC', 'ENOSPC: some reason'],
])('a failure to write the file %s with the code %s says "cannot be written: %s"', async (path, code, reason) => {
  const error = { kind: 'output', message: `${path} cannot be written: ${reason}` };
  expect(() => namingErrors(path, 'written', () => fail(code, path))).toThrow(expect.objectContaining(error));
  await expect(namingErrors(path, 'written', async () => fail(code, path))).rejects.toMatchObject(error);
});

test("the message for a file that cannot be read contains only the system's reason", () => {
  const read = () => namingErrors('rows.csv', 'read', () => readFileSync('/nowhere/rows.csv'));
  expect(read).toThrow('rows.csv cannot be read: ENOENT: no such file or directory');
});

test('a closed pipe is not reported as a file error', () => {
  expect(() => namingErrors('stdout', 'written', () => fail('EPIPE', ''))).toThrow(expect.objectContaining({ kind: 'stdout-closed' }));
});

test('a closed pipe other than the output is reported with its name', () => {
  const closed = new AutomateError('stdout-closed', 'pipe was closed');
  expect(besideOutput('pipe', closed)).toMatchObject({ kind: 'output', message: 'pipe cannot be written: its reader has closed it' });
  const full = new AutomateError('output', 'the disk is full');
  expect(besideOutput('pipe', full)).toBe(full);
});

test('the result of a file operation, or the AutomateError that it throws, is passed on unchanged', async () => {
  const error = new AutomateError('credits', 'used up');
  expect(() =>
    namingErrors('file', 'used', () => {
      throw error;
    }),
  ).toThrow(error);
  expect([namingErrors('file', 'used', () => 1), await namingErrors('file', 'used', async () => 2)]).toEqual([1, 2]);
});

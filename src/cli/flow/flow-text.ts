import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { FlowError, type Problem } from '../../core/failure.ts';
import { systemReason } from '../../io/files/naming-errors.ts';
import { utf8Length } from '../../io/records/readers/utf8.ts';

/** The text of a flow file. Throws a FlowError when it cannot be read, or is not UTF-8. */
export async function readFlowText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.code === 'EISDIR' ? 'it is a folder' : systemReason(error);
    throw new FlowError(file, [{ message: `the flow file cannot be read: ${reason}` }]);
  });
  const problem = encodingProblem(bytes);
  if (problem) throw new FlowError(file, [problem]);
  return bytes.toString();
}

/** The line is not shown: what is no text cannot be searched for secrets. */
function encodingProblem(bytes: Buffer): Problem | undefined {
  if (isUtf16(bytes)) return { line: 1, column: 1, message: 'expected UTF-8, found UTF-16\nsave the flow file as UTF-8' };
  if (isUtf8(bytes)) return undefined;
  const length = utf8Length(bytes);
  const lines = bytes.toString('utf8', 0, length).split('\n');
  const hex = (bytes[length] as number).toString(16).toUpperCase();
  const message = `expected UTF-8, found the byte 0x${hex}\nsave the flow file as UTF-8`;
  return { line: lines.length, column: (lines.at(-1) as string).length + 1, message };
}

/** By its byte order mark, or by the zero byte of an everyday first character. */
function isUtf16([first, second]: Buffer): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || (first === 0) !== (second === 0);
}

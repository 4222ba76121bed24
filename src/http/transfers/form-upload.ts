import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { Readable } from 'node:stream';
import { Failure } from '../../core/failure.ts';
import type { FilePart, FormPart } from '../../core/transfer.ts';
import { systemReason } from '../../files/naming-errors.ts';
import { type FilesFolder, openPath, PathRefused } from './files-folder.ts';

export interface OpenUpload {
  readonly contentType: string;
  /** In bytes. */
  readonly length: number;
  /** The request body, from its start. Reading it throws a Failure if a file has changed since it was opened. */
  body(): Readable;
  /** Ends its bodies, and closes the files. */
  close(): Promise<void>;
}

/** multipart/form-data (RFC 7578). Each attempt opens the files again and sends the same bytes, unless a file has changed. */
export class FormUpload {
  readonly #parts: readonly FormPart[];
  readonly #boundary: string;
  readonly #folder: FilesFolder;

  /** Forms with the same key have the same boundary, so all attempts send the same bytes. */
  constructor(parts: readonly FormPart[], key: object, folder: FilesFolder) {
    this.#parts = parts;
    this.#boundary = boundaryOf(key);
    this.#folder = folder;
  }

  get contentType(): string {
    return `multipart/form-data; boundary=${this.#boundary}`;
  }

  /** Opens the files of the form. Throws a Failure (`request`) if a file cannot be read. Nothing has been sent then. */
  async open(): Promise<OpenUpload> {
    const handles: FileHandle[] = [];
    const bodies: Readable[] = [];
    const close = async () => {
      for (const body of bodies) body.destroy();
      await Promise.all(handles.splice(0).map((handle) => handle.close()));
    };
    try {
      const sections: FormSection[] = [];
      for (const part of this.#parts) {
        const file = 'file' in part ? await openFile(part, this.#folder, handles) : undefined;
        sections.push({ head: Buffer.from(this.#headOf(part)), text: 'file' in part ? '' : part.value, file });
      }
      const end = Buffer.from(`--${this.#boundary}--\r\n`);
      const length = sections.reduce(
        (sum, { head, text, file }) => sum + head.length + Buffer.byteLength(text) + (file?.size ?? 0) + 2,
        end.length,
      );
      const body = () => {
        const made = Readable.from(formBytes(sections, end), { objectMode: false });
        bodies.push(made);
        return made;
      };
      return { contentType: this.contentType, length, body, close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  #headOf(part: FormPart): string {
    const lines = [`--${this.#boundary}`];
    const name = `Content-Disposition: form-data; name="${quotable(part.name)}"`;
    if ('file' in part) {
      lines.push(
        `${name}; filename="${quotable(part.fileName ?? basename(part.file))}"`,
        `Content-Type: ${part.contentType ?? typeOf(part.file)}`,
      );
    } else lines.push(name);
    return `${lines.join('\r\n')}\r\n\r\n`;
  }
}

/** A part of the request body. It consists of a head, followed by text or a file. */
interface FormSection {
  readonly head: Buffer;
  readonly text: string;
  readonly file: OpenFile | undefined;
}

interface OpenFile {
  /** As written in the flow or record. */
  readonly path: string;
  readonly handle: FileHandle;
  readonly size: number;
  readonly changedMs: number;
}

const chunkBytes = 64 * 1024;

async function* formBytes(sections: readonly FormSection[], end: Buffer): AsyncGenerator<Buffer> {
  for (const { head, text, file } of sections) {
    yield head;
    if (text !== '') yield Buffer.from(text);
    if (file) yield* fileBytes(file);
    yield Buffer.from('\r\n');
  }
  yield end;
}

async function* fileBytes({ path, handle, size, changedMs }: OpenFile): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(chunkBytes, size - at)), 0, undefined, at);
    if (bytesRead === 0) throw changed(path);
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  const now = await handle.stat();
  if (now.size !== size || now.mtimeMs !== changedMs) throw changed(path);
}

/** A hash of the contents of some files. Throws a Failure (`request`) if one cannot be read. */
export async function contentOf(paths: readonly string[], folder: FilesFolder): Promise<string> {
  const hash = createHash('sha256');
  const handles: FileHandle[] = [];
  try {
    for (const path of paths) {
      const file = await openFile({ file: path, name: path }, folder, handles);
      hash.update(`${file.size} `);
      for await (const bytes of fileBytes(file)) hash.update(bytes);
    }
    return hash.digest('hex');
  } finally {
    await Promise.all(handles.map((handle) => handle.close()));
  }
}

/** The request can be retried, because the next attempt reads the new content. */
function changed(path: string): Failure {
  return new Failure('network', `the file "${path}" was changed while it was being sent`, { retryable: true });
}

async function openFile(
  { file: path, name }: Pick<FilePart, 'file' | 'name'>,
  folder: FilesFolder,
  handles: FileHandle[],
): Promise<OpenFile> {
  const refused = (reason: string) =>
    new Failure('request', `the file of "${name}" in the form cannot be sent: ${reason}`, { sent: false });
  try {
    // With `O_NONBLOCK`, opening a named pipe does not wait for a writer.
    const real = await folder.existing(path);
    const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0));
    handles.push(handle);
    await folder.refuseOpen(handle, await openPath(handle, real), path);
    const found = await handle.stat();
    if (!found.isFile()) throw refused(`"${path}" is not a file`);
    return { path, handle, size: found.size, changedMs: found.mtimeMs };
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof PathRefused) throw refused(error.message);
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refused(isMissing ? `there is no file "${path}"` : `"${path}": ${systemReason(error as Error)}`);
  }
}

const boundaries = new WeakMap<object, string>();

/** Random, so a file that contains it cannot be prepared. */
function boundaryOf(key: object): string {
  const boundary = boundaries.get(key) ?? `automate-${randomBytes(16).toString('hex')}`;
  boundaries.set(key, boundary);
  return boundary;
}

/** Escapes a name as browsers do (html.spec.whatwg.org, multipart/form-data encoding algorithm). */
function quotable(name: string): string {
  return name.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
};

function typeOf(path: string): string {
  return types[extname(path).toLowerCase()] ?? 'application/octet-stream';
}

import { readFile, stat } from 'node:fs/promises';
import { AutomateError } from '../core/failure.ts';
import { percentDecoded } from '../core/template/url.ts';
import { escapedControls } from '../core/text/quoted-word.ts';
import { holdsToken, looksRandom } from '../core/text/secret-shapes.ts';
import { systemReason } from '../files/naming-errors.ts';
import { type KnownSecrets, pathWithFields } from '../starter/known-secrets.ts';

const maxBytes = 100_000_000;

/** Throws an AutomateError (`input`) if the file cannot be read, has more than 100 MB (with the advice `smaller`) or is not JSON. */
export async function readJsonFile(file: string, kind: string, smaller: string): Promise<unknown> {
  const fail = (message: string) => new AutomateError('input', message);
  const text = await readText().catch((error: NodeJS.ErrnoException) => {
    if (error instanceof AutomateError) throw error;
    throw unreadableFile(file, error);
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw fail(`${file}${jsonPlace(text, error as Error)}: expected ${kind}, found ${contentOf(text)}`);
  }

  async function readText(): Promise<string> {
    const { size } = await stat(file);
    if (size > maxBytes) throw fail(`${file} has ${Math.ceil(size / 1_000_000)} MB; expected at most 100 MB\n${smaller}`);
    const bytes = await readFile(file);
    const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8';
    return new TextDecoder(encoding).decode(bytes);
  }
}

export function unreadableFile(file: string, error: NodeJS.ErrnoException): AutomateError {
  const reason = error.code === 'ENOENT' ? 'there is no such file' : systemReason(error);
  return new AutomateError('input', `${file} cannot be read: ${reason}`);
}

/** Says what the file probably is. The text itself is not shown, because it might contain a secret. */
function contentOf(text: string): string {
  const start = text.slice(0, 1000).trimStart();
  if (start === '') return 'an empty file';
  if (start.startsWith('<')) return /^<(?:!doctype html|html)/i.test(start) ? 'a web page (HTML)' : 'XML';
  if (['PK\u0003\u0004', '\u001f\ufffd'].some((magic) => start.startsWith(magic))) return 'a compressed file: unpack it first';
  if (/^curl\s/.test(start)) return 'a curl command';
  if (start.includes('\0') || start.startsWith('\ufffd')) return 'a binary file';
  if (!/^[[{]/.test(start)) return 'text that is not JSON';
  return isCutOff(text) ? 'JSON that is cut off: export the file again' : 'text that is not valid JSON';
}

function isCutOff(text: string): boolean {
  return !/[\]}]\s*$/.test(text) || (text.match(/[{[]/g)?.length ?? 0) > (text.match(/[}\]]/g)?.length ?? 0);
}

/** Has the form `:LINE:COLUMN`, from 1. Empty if the mistake has no position, because the text is no JSON at all or ends too early. */
function jsonPlace(text: string, { message }: Error): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined || !/^\s*[[{]/.test(text)) return '';
  const lines = text.slice(0, Number(position)).split('\n');
  return `:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

const maxUrl = 200;

/** Returns the URL of a request in a file of another tool, with its secrets masked. */
export function shownUrl(url: string, secrets: KnownSecrets): string {
  const [address = '', query] = url.replace(/^(\w+:\/\/)[^/?#@]*@/, '$1').split(/\?(.*)/s);
  const isSecret = (name: string, value: string) => secrets.rule(name, 'query', value, true) || holdsToken(value) || looksRandom(value);
  const path = address.replace(/;([\w.-]+)=([^/;#]*)/g, (found, name, value) => (isSecret(name, value) ? `;${name}=***` : found));
  const { text } = pathWithFields(path, secrets, () => '***');
  const pairs = query?.split('&').map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s).map(percentDecoded);
    return isSecret(name, value) ? `${pair.split('=')[0]}=***` : pair;
  });
  const shown = escapedControls(text + (pairs ? `?${pairs.join('&')}` : ''));
  return shown.length > maxUrl ? `${shown.slice(0, maxUrl).toWellFormed()}…` : shown;
}

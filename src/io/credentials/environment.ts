import { createReadStream, statSync } from 'node:fs';
import { AutomateError } from '../../core/failure.ts';
import { systemReason } from '../files/naming-errors.ts';
import type { Finding } from './secret.ts';

/** The environment variable of a credential: `crm-token` is `AUTOMATE_CREDENTIAL_CRM_TOKEN`. */
export function credentialVariable(name: string): string {
  return `AUTOMATE_CREDENTIAL_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/** The variable that a credential comes from; absent when none is set. */
export function variableWith(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const variable = credentialVariable(name);
  return [variable, `${variable}_FILE`].find((candidate) => environment[candidate]);
}

/** The credentials that come from variables, or from the files that variables name. */
export async function findInEnvironment(names: readonly string[], environment: NodeJS.ProcessEnv): Promise<Map<string, Finding>> {
  const found = new Map<string, Finding>();
  for (const name of names) {
    const variable = variableWith(name, environment);
    if (variable !== undefined) found.set(name, await findingIn(variable, variable === credentialVariable(name), environment));
  }
  return found;
}

async function findingIn(variable: string, isSecret: boolean, environment: NodeJS.ProcessEnv): Promise<Finding> {
  const text = environment[variable] as string;
  try {
    return { secret: { text: isSecret ? oneLine(text, variable) : await secretFile(text, variable), from: variable } };
  } catch (error) {
    if (error instanceof AutomateError) return { problem: error.message };
    throw error;
  }
}

/** The secret in a file, without a byte order mark. The file's name is not shown: it may be the secret itself. Throws an AutomateError (`credential`). */
export async function secretFile(file: string, variable: string): Promise<string> {
  try {
    refuseEndless(file);
    return oneLine(utf8Of(await firstBytes(file)), `the file that ${variable} names`);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    const reason = error instanceof TypeError ? 'it is not UTF-8' : systemReason(error as Error);
    throw new AutomateError('credential', `${variable} names a file that cannot be read: ${reason}`);
  }
}

/** What a shell gives as `<(command)` is a pipe that somebody writes; of any other nobody knows whether it ever ends. */
function refuseEndless(file: string): void {
  const found = statSync(file);
  if (found.isFile() || (found.isFIFO() && /^\/(?:dev|proc\/self)\/fd\/\d+$/.test(file))) return;
  throw new Error('it is no regular file');
}

/** Enough to see that it is too much. */
async function firstBytes(file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: 4 * longestSecret })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Throws a TypeError when it is not UTF-8. */
export function utf8Of(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** No server takes a longer one in a header. */
const longestSecret = 16_384;

/** A secret without the line break that editors and `$(...)` elsewhere leave at its end. Throws an AutomateError (`credential`) when it is none. */
export function oneLine(text: string, where: string): string {
  const secret = text.replace(/\r?\n$/, '');
  const found = secret.trim() === '' ? 'nothing' : controlIn(secret);
  if (found !== undefined) throw new AutomateError('credential', `expected a secret on one line, found ${found} in ${where}`);
  if (secret.length > longestSecret) {
    throw new AutomateError('credential', `expected a secret of at most ${longestSecret} characters, found ${secret.length} in ${where}`);
  }
  return secret;
}

function controlIn(secret: string): string | undefined {
  if (!controls.test(secret)) return undefined;
  return /[\r\n]/.test(secret) ? 'a line break' : 'a control character';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
const controls = /[\x00-\x1f\x7f]/;

import { createReadStream, statSync } from 'node:fs';
import { AutomateError } from '../../core/failure.ts';
import { systemReason } from '../files/naming-errors.ts';
import { credentialProblem, type Finding } from './secret.ts';

/** The environment variable of a credential: `AUTOMATE_CREDENTIAL_CRM_TOKEN` for `crm-token`. */
export function credentialVariable(name: string): string {
  return `AUTOMATE_CREDENTIAL_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/** The variable that holds a credential or names its file; absent if neither variable is set. */
export function variableWith(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const variable = credentialVariable(name);
  return [variable, `${variable}_FILE`].find((candidate) => environment[candidate]);
}

/** The environment for other programs, without our own variables: they may hold secrets. */
export function withoutOwnVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('AUTOMATE_')));
}

/** Finds the credentials that are in variables, or in files that variables name. */
export async function findInEnvironment(names: readonly string[], environment: NodeJS.ProcessEnv): Promise<Map<string, Finding>> {
  const found = new Map<string, Finding>();
  for (const name of names) {
    const variable = variableWith(name, environment);
    if (variable !== undefined) found.set(name, await findingIn(name, variable, environment));
  }
  return found;
}

/** The way to give a secret without storing it. */
export function variableText(name: string): string {
  const variable = credentialVariable(name);
  return `set ${variable}, or ${variable}_FILE to the name of a file that holds it`;
}

async function findingIn(name: string, variable: string, environment: NodeJS.ProcessEnv): Promise<Finding> {
  const isSecret = variable === credentialVariable(name);
  const text = environment[variable] as string;
  try {
    return { secret: { text: isSecret ? oneLine(text, variable) : await readSecretFile(text, variable), from: variable } };
  } catch (error) {
    if (error instanceof AutomateError) return { problem: credentialProblem(name, error.message) };
    throw error;
  }
}

/** Reads a secret from a file. Messages leave the file's name out: it may be the secret itself. Throws an AutomateError (`credential`). */
export async function readSecretFile(file: string, variable: string): Promise<string> {
  try {
    refuseEndless(file);
    return oneLine(utf8Of(await firstBytes(file)), `the file that ${variable} names`);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    const reason = error instanceof TypeError ? 'it is not UTF-8' : systemReason(error as Error);
    throw new AutomateError('credential', `${variable} names a file that cannot be read: ${reason}`);
  }
}

/** Throws unless the file is sure to end. A shell's `<(command)` is a pipe with a writer; any other pipe or device may never end. */
function refuseEndless(file: string): void {
  const found = statSync(file);
  if (found.isFile() || (found.isFIFO() && /^\/(?:dev|proc\/self)\/fd\/\d+$/.test(file))) return;
  throw new Error('it is no regular file');
}

/** Reads no more than it takes to see that a secret is too long. */
async function firstBytes(file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: 4 * maxSecretLength })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Decodes UTF-8, without a byte order mark. Throws a TypeError if it is not UTF-8. */
export function utf8Of(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** No server accepts a longer header. In characters. */
const maxSecretLength = 16_384;

/** Removes the line break that editors leave at the end. Throws an AutomateError (`credential`) unless the rest is one line. */
export function oneLine(text: string, where: string): string {
  const secret = text.replace(/\r?\n$/, '');
  const found = secret.trim() === '' ? 'nothing' : controlIn(secret);
  if (found !== undefined) throw new AutomateError('credential', `expected a secret on one line, found ${found} in ${where}`);
  if (secret.length > maxSecretLength) {
    throw new AutomateError('credential', `expected a secret of at most ${maxSecretLength} characters, found ${secret.length} in ${where}`);
  }
  return secret;
}

function controlIn(secret: string): string | undefined {
  if (!controls.test(secret)) return undefined;
  return /[\r\n]/.test(secret) ? 'a line break' : 'a control character';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
const controls = /[\x00-\x1f\x7f]/;

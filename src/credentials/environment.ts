import { createReadStream, statSync } from 'node:fs';
import { AutomateError } from '../core/failure.ts';
import { orUndefined } from '../core/value/value.ts';
import { systemReason } from '../files/naming-errors.ts';
import { credentialProblem, type Finding } from './secret.ts';

/** For the credential `crm-token`, this is `AUTOMATE_CREDENTIAL_CRM_TOKEN`. */
export function credentialVariable(name: string): string {
  return `AUTOMATE_CREDENTIAL_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/** The name of the variable that contains a credential's secret or the path of a file with it, if one is set. */
export function variableWith(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const variable = credentialVariable(name);
  return [variable, `${variable}_FILE`].find((candidate) => environment[candidate]);
}

/** For programs that automate starts. Leaves out automate's own variables, because they may contain secrets. */
export function withoutOwnVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('AUTOMATE_')));
}

/** The variables contain the secrets or the paths of files with them. */
export async function findInEnvironment(names: readonly string[], environment: NodeJS.ProcessEnv): Promise<Map<string, Finding>> {
  const found = new Map<string, Finding>();
  for (const name of names) {
    const variable = variableWith(name, environment);
    if (variable !== undefined) found.set(name, await findingIn(name, variable, environment));
  }
  return found;
}

/** The names of all variables that contain a credential's secret, or the path of a file with it. */
export function credentialVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment).filter((variable) => variable.startsWith(credentialVariable('')) && environment[variable]);
}

/** Leaves out secrets that cannot be read. */
export async function secretsInEnvironment(environment: NodeJS.ProcessEnv): Promise<string[]> {
  const ends = credentialVariables(environment).map((variable) => variable.slice(credentialVariable('').length));
  // A variable that ends in _FILE can also belong to a credential such as `my-file`.
  const found = await findInEnvironment([...ends, ...ends.map((end) => end.replace(/_FILE$/, ''))], environment);
  return [...found.values()].flatMap((finding) => ('secret' in finding ? [finding.secret.text] : []));
}

/** Returns a hint for the user on how to provide a secret in a variable or a file, without storing it. */
export function variableText(name: string): string {
  const variable = credentialVariable(name);
  return `set ${variable}, or ${variable}_FILE to the name of a file that contains it`;
}

async function findingIn(name: string, variable: string, environment: NodeJS.ProcessEnv): Promise<Finding> {
  const isSecret = variable === credentialVariable(name);
  const text = environment[variable] as string;
  try {
    return { secret: { text: isSecret ? checkedSecret(text, variable) : await readSecretFile(text, variable), from: variable } };
  } catch (error) {
    if (error instanceof AutomateError) return { problem: credentialProblem(name, error.message) };
    throw error;
  }
}

/** Throws an AutomateError (`credential`) without the file's name, because the user may have set the variable to the secret itself. */
export async function readSecretFile(file: string, variable: string): Promise<string> {
  try {
    refuseEndless(file);
    return checkedSecret(utf8Of(await firstBytes(file)), `the file in ${variable}`);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    const reason = error instanceof TypeError ? 'it is not UTF-8' : systemReason(error as Error);
    throw new AutomateError('credential', `${variable} is set to a file that cannot be read: ${reason}`);
  }
}

/** Refuses pipes and devices, because reading them might never end. The pipe that a shell creates for `<(command)` is allowed. */
function refuseEndless(file: string): void {
  const found = statSync(file);
  if (found.isFile() || (found.isFIFO() && /^\/(?:dev|proc\/self)\/fd\/\d+$/.test(file))) return;
  throw new Error('it is not a regular file');
}

/** Reads enough to detect that a secret is too long. */
async function firstBytes(file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: 4 * maxSecretLength })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Removes a byte order mark. Throws a TypeError if the bytes are not UTF-8. */
export function utf8Of(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** In characters. No server accepts a longer header. */
const maxSecretLength = 16_384;

/**
 * Removes the line break that editors add. Throws an AutomateError (`credential`) if the secret is empty, too long, or has several lines
 * although it is no PEM or JSON document.
 */
export function checkedSecret(text: string, where: string): string {
  const secret = text.replace(/\r?\n$/, '');
  const found = secret.trim() === '' ? 'nothing' : controlIn(secret);
  if (found !== undefined && !(found === 'a line break' && isDocument(secret))) {
    const documents = found === 'a line break' ? '\nonly a PEM or JSON document can have several lines' : '';
    throw new AutomateError('credential', `expected a secret on one line, found ${found} in ${where}${documents}`);
  }
  if (/^\s*-----BEGIN /m.test(secret) && !secret.includes('-----END '))
    throw new AutomateError('credential', `expected a whole PEM document, found only its beginning in ${where}\npass the file: < FILE`);
  if (secret.length > maxSecretLength) {
    throw new AutomateError('credential', `expected a secret of at most ${maxSecretLength} characters, found ${secret.length} in ${where}`);
  }
  return secret;
}

/** True for a PEM document (RFC 7468), which can begin with text, as openssl writes it, and for a JSON object, such as a key file. */
export function isDocument(text: string): boolean {
  if (/-----BEGIN [^-]*-----[\r\n\t -~]*-----END [^-]*-----\s*$/.test(text)) return true;
  return /^\s*\{/.test(text) && orUndefined(() => JSON.parse(text) as unknown) !== undefined;
}

function controlIn(secret: string): string | undefined {
  if (!controls.test(secret)) return undefined;
  return /[\r\n]/.test(secret) ? 'a line break' : 'a control character';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot contain them
const controls = /[\x00-\x1f\x7f]/;

import { AutomateError } from '../../core/failure.ts';
import { name as nameShape } from '../../core/options/names.ts';
import { savedConnections } from '../../io/connections.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import { envOption } from '../../io/credentials/secret.ts';
import type { Asker } from '../ask.ts';
import { openCredentials } from '../credentials/credential-store.ts';
import { setCommand } from '../credentials/credentials-set.ts';
import type { Terminal } from '../terminal.ts';
import { type ConnectionType, exampleOf, needsPair, type WrittenAuth } from './connections-auth.ts';

/** What decides whether a name is free. */
interface NameOptions {
  readonly force?: boolean;
}

/** The name of a new connection, asked for. Throws an AutomateError (`usage`) where nobody is. */
export async function askedName(asker: Asker | undefined, options: NameOptions, type: ConnectionType): Promise<string> {
  if (!asker) throw new AutomateError('usage', `expected a name, as in: ${exampleOf('bearer', type)}`);
  return asker.text('Name of the connection', { placeholder: 'crm', check: (answer) => nameProblem(answer, options) });
}

/** What is wrong with a name; absent when nothing is. */
export function nameProblem(name: string, { force }: NameOptions): string | undefined {
  const { error } = nameShape.safeParse(name);
  if (error) return error.issues[0]?.message;
  return !force && Object.hasOwn(savedConnections(process.env), name) ? existing(name) : undefined;
}

/** That a name is taken. */
export function existing(name: string): string {
  return `there is a connection "${name}" already\nreplace it with --force`;
}

/** Headers, each given once. Throws an AutomateError (`usage`). */
export function headersOf(given: readonly (readonly [string, string])[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [header, value] of given) {
    if (headers.has(header)) throw new AutomateError('usage', `--set-header: the header "${header}" is there already`);
    headers.set(header, value);
  }
  return Object.fromEntries(headers);
}

/** Without its secret the connection is of no use yet. */
export async function offerSecret(auth: WrittenAuth, asker: Asker | undefined, terminal: Terminal, env?: string): Promise<void> {
  const { credential } = auth;
  if (variableWith(credential, process.env) !== undefined) return;
  const store = openCredentials(env, terminal);
  if (store.list().some(({ name, env }) => name === credential && env === store.env)) return;
  if (needsPair(auth)) terminal.say(`the secret of "${credential}" has to be username:password`);
  if (asker && process.stdin.isTTY && (await asker.yes(`There is no credential "${credential}" yet. Keep its secret now?`)))
    await setCommand(credential, env === undefined ? {} : { env }, terminal);
  else terminal.say(`there is no credential "${credential}" yet; store it: automate credentials set ${credential}${envOption(store.env)}`);
}

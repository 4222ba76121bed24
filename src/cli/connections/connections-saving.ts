import { AutomateError } from '../../core/failure.ts';
import { name as nameShape } from '../../core/options/names.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { variableWith } from '../../credentials/environment.ts';
import type { Asker } from '../../credentials/messages.ts';
import { connectionExists } from '../../run/flow-folder.ts';
import { envWords, messageWithAdvice } from '../advice.ts';
import { setCommand } from '../credentials/credentials-set.ts';
import type { Terminal } from '../terminal.ts';
import type { AddOptions } from './connection-options.ts';
import { type ConnectionType, exampleOf, type GivenAuth, needsPair } from './connections-auth.ts';

/** A connection in the form in which a flow file contains it. */
export interface WrittenConnection {
  readonly written: Readonly<Record<string, unknown>>;
  /** The authentication settings; undefined if the connection has none. */
  readonly auth: GivenAuth | undefined;
}

/** Returns the settings without the undefined ones. */
export function withoutAbsent(written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}

/**
 * Returns the headers that `--set-header` sets; undefined if there are none. Throws an AutomateError (`usage`) if a header is set twice.
 */
export function setHeaders({ setHeader: given }: AddOptions): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  const headers = new Map<string, string>();
  for (const [header, value] of given) {
    if (headers.has(header)) throw new AutomateError('usage', `--set-header: the header "${header}" is given twice`);
    headers.set(header, value);
  }
  return Object.fromEntries(headers);
}

/**
 * Returns the name of the new connection, after asking for it if it is missing. Throws an AutomateError (`usage`) if the name cannot be
 * used.
 */
export async function chooseName(
  given: string | undefined,
  options: AddOptions,
  type: ConnectionType,
  asker: Asker | undefined,
): Promise<string> {
  if (given === undefined) {
    if (!asker) throw new AutomateError('usage', `expected a name, as in: ${exampleOf('bearer', type)}`);
    return asker.text('Name of the connection, such as crm', { check: (answer) => nameProblem(answer, options) });
  }
  const problem = nameProblem(given, options);
  if (problem !== undefined) throw new AutomateError('usage', problem);
  return given;
}

function nameProblem(name: string, { force }: AddOptions): string | undefined {
  const { error } = nameShape.safeParse(name);
  if (error) return error.issues[0]?.message;
  return !force && Object.hasOwn(readConnections(process.env), name) ? messageWithAdvice(connectionExists(name)) : undefined;
}

/** Asks for the secret of a new connection and stores it. If there is no terminal, prints how to store it. */
export async function offerSecret(auth: GivenAuth, asker: Asker | undefined, terminal: Terminal, env?: string): Promise<void> {
  const { credential } = auth;
  if (variableWith(credential, process.env) !== undefined) return;
  const store = openCredentials(env, terminal);
  if (store.list().some(({ name, env }) => name === credential && env === store.env)) return;
  if (needsPair(auth)) terminal.say(`the secret of "${credential}" has to be username:password`);
  if (asker && process.stdin.isTTY && (await asker.yes(`There is no credential "${credential}" yet. Store its secret now?`)))
    await setCommand(credential, { env }, terminal);
  else terminal.say(`there is no credential "${credential}" yet; store it: automate credentials set ${credential}${envWords(store.env)}`);
}

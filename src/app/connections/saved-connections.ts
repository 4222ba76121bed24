import type { Connection } from '../../core/connection.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import { AutomateError, errorOf } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { compileSavedConnection } from '../../flow/saved-connection.ts';
import { changeConnections, readConnections } from '../../io/connections.ts';

/** A saved connection as it was written. Throws an AutomateError (`credential`) if there is none of that name. */
export function findSaved(name: string): Readonly<Record<string, unknown>> {
  const saved = readConnections(process.env);
  const found = Object.hasOwn(saved, name) ? saved[name] : undefined;
  if (found) return found;
  const names = Object.keys(saved);
  const choices = didYouMean(name, names) || (names.length === 0 ? '; none is saved' : `; there are ${names.join(', ')}`);
  throw new AutomateError('credential', `no connection "${name}"${choices}`);
}

/** Compiles a saved connection. Throws an AutomateError (`credential`). */
export function loadConnection(name: string, allowHttp: boolean): Connection {
  const written = findSaved(name);
  try {
    return compileSavedConnection(name, written, allowHttp);
  } catch (error) {
    const { message, code, details } = error as Error & CodedMessage;
    throw errorOf('credential', { message: `the saved connection "${name}" is not valid: ${message}`, code, details });
  }
}

/** Saves a connection. Throws an AutomateError (`usage`) if another process has saved one of that name. */
export async function saveConnection(
  name: string,
  written: Readonly<Record<string, unknown>>,
  { force = false }: { readonly force?: boolean },
): Promise<void> {
  await changeConnections(process.env, (saved) => {
    if (Object.hasOwn(saved, name) && !force) throw connectionExists(name);
    return { ...saved, [name]: written };
  });
}

/** The error for a name that a saved connection has already. */
export function connectionExists(name: string): AutomateError {
  const facts = { code: 'connection-exists', details: { connection: name } } as const;
  return new AutomateError('usage', `there is a connection "${name}" already`, facts);
}

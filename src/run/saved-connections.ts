import type { Connection } from '../core/connection.ts';
import type { CodedMessage } from '../core/error-code.ts';
import { AutomateError, errorOf } from '../core/failure.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { changeConnections, readConnections } from '../credentials/connections-file.ts';
import { compileSavedConnection } from '../flow/saved-connection.ts';

/**
 * Returns a saved connection as written in the file of saved connections. Throws an AutomateError (`credential`) if no connection has that
 * name.
 */
export function findSaved(name: string): Readonly<Record<string, unknown>> {
  const saved = readConnections(process.env);
  const found = Object.hasOwn(saved, name) ? saved[name] : undefined;
  if (found) return found;
  const names = Object.keys(saved);
  const choices = didYouMean(name, names) || (names.length === 0 ? '; none is saved' : `; available: ${names.join(', ')}`);
  throw new AutomateError('credential', `no connection "${name}"${choices}`);
}

/** Compiles the saved connection with this name. Throws an AutomateError (`credential`) if it does not exist or is not valid. */
export function loadConnection(name: string, allowHttp: boolean): Connection {
  const written = findSaved(name);
  try {
    return compileSavedConnection(name, written, allowHttp);
  } catch (error) {
    const { message, code, details } = error as Error & CodedMessage;
    throw errorOf('credential', { message: `the saved connection "${name}" is not valid: ${message}`, code, details });
  }
}

/** Saves a connection. Throws an AutomateError (`usage`) if another process has meanwhile saved a connection with the same name. */
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

/** Returns the error for a name that another saved connection already uses. */
export function connectionExists(name: string): AutomateError {
  const facts = { code: 'connection-exists', details: { connection: name } } as const;
  return new AutomateError('usage', `there is a connection "${name}" already`, facts);
}

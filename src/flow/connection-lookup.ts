import type { Connection } from '../core/connection.ts';
import type { CodedMessage } from '../core/error-code.ts';
import { didYouMean } from '../core/text/suggest.ts';
import type { Compilation } from './compilation.ts';
import { compileSavedConnection } from './saved-connection.ts';
import type { At } from './source.ts';

/**
 * Returns the connection with this name and type. If there is none, or if it has a different type, reports the problem and returns
 * undefined.
 */
export function connectionOfType<Type extends Connection['type']>(
  type: Type,
  name: string,
  at: At,
  compilation: Compilation,
): Extract<Connection, { type: Type }> | undefined {
  const connection = connectionNamed(name, at, compilation, type);
  if (connection && connection.type !== type) {
    const message = `expected a connection of type ${type}, found "${name}", which is of type ${connection.type}`;
    compilation.problems.push(compilation.source.at(at, `${message}\nonly nodes of type ${connection.type} can use it`));
    return undefined;
  }
  if (connection?.type === 'http' && connection.clientCert && !compilation.certificates.has(connection.clientCert))
    compilation.certificates.set(connection.clientCert, at);
  return connection as Extract<Connection, { type: Type }> | undefined;
}

/**
 * Returns the flow's connection with this name, or else the saved one. The advice in the message depends on `expected`, the expected type.
 */
function connectionNamed(name: string, at: At, compilation: Compilation, expected: Connection['type']): Connection | undefined {
  const { connections, source, problems, missing, saved } = compilation;
  if (connections.has(name)) return connections.get(name);
  const others = compilation.savedConnections?.() ?? {};
  const written = Object.hasOwn(others, name) ? others[name] : undefined;
  if (written) {
    const connection = savedConnection(name, written, at, compilation);
    saved.set(name, written);
    connections.set(name, connection);
    return connection;
  }
  const names = [...new Set([...connections.keys(), ...Object.keys(others)])];
  const choices =
    didYouMean(name, names) || (names.length === 0 ? '; the flow has none, and none is saved' : `; available: ${names.join(', ')}`);
  const facts = { code: 'connection-missing', details: { connection: name, type: expected } } as const;
  const problem = source.at(at, { message: `no connection "${name}"${choices}`, ...facts });
  missing.add(problem);
  problems.push(problem);
  return undefined;
}

function savedConnection(name: string, written: object, at: At, { source, problems, allowHttp }: Compilation): Connection | undefined {
  try {
    return compileSavedConnection(name, written, allowHttp);
  } catch (error) {
    const { message, code, details } = error as Error & CodedMessage;
    problems.push(source.at(at, { message: `the saved connection "${name}" is not valid: ${message}`, code, details }));
    return undefined;
  }
}

import type { Connection } from '../core/connection.ts';
import { didYouMean } from '../core/text/suggest.ts';
import type { Compilation } from './compilation.ts';
import { compileSavedConnection } from './saved-connection.ts';
import type { At } from './source.ts';

/** The connection of a name and type. `undefined`, with the problem reported, if no connection has this name, or it has another type. */
export function connectionOfType<Type extends Connection['type']>(
  type: Type,
  name: string,
  at: At,
  compilation: Compilation,
): Extract<Connection, { type: Type }> | undefined {
  const connection = connectionNamed(name, at, compilation, type);
  if (connection && connection.type !== type) {
    const message = `expected a connection of type ${type}, found "${name}", which is of type ${connection.type}`;
    compilation.problems.push(compilation.source.at(at, `${message}\nnodes of type ${connection.type} use it`));
    return undefined;
  }
  return connection as Extract<Connection, { type: Type }> | undefined;
}

const addExamples = { http: '--base-url URL', mcp: '--url URL' };

/** The flow's own connection of a name, else the saved connection. `expected`: the type that the node needs, for the advice. */
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
    didYouMean(name, names) || (names.length === 0 ? '; the flow has none, and none is saved' : `; there are ${names.join(', ')}`);
  const wayOut = `save it: automate connections add ${expected} ${name} ${addExamples[expected]}`;
  const problem = source.at(at, `no connection "${name}"${choices}\n${wayOut}`);
  missing.add(problem);
  problems.push(problem);
  return undefined;
}

function savedConnection(name: string, written: object, at: At, { source, problems, allowHttp }: Compilation): Connection | undefined {
  try {
    return compileSavedConnection(name, written, allowHttp);
  } catch (error) {
    problems.push(source.at(at, `the saved connection "${name}" is not valid: ${(error as Error).message}`));
    return undefined;
  }
}

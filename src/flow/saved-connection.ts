import { stringify } from 'yaml';
import { authOptions } from '../core/auth/auth.ts';
import type { Connection } from '../core/connection.ts';
import { errorOf, type Problem } from '../core/failure.ts';
import { compileConnections } from './connections.ts';
import { readSource } from './source.ts';

/** Returns a connection as the YAML that a flow would contain. */
export function connectionText(name: string, written: object): string {
  return stringify({ connections: { [name]: written } }, { lineWidth: 0 }).trimEnd();
}

/**
 * Compiles a saved connection in the same way as a connection in a flow. If there are problems, throws an AutomateError (`usage`) that
 * lists them all. The error has the code of the first problem that has one.
 */
export function compileSavedConnection(name: string, written: object, allowHttp: boolean): Connection {
  const { connection, problems } = checkedConnection(name, written, allowHttp);
  if (connection && problems.length === 0) return connection;
  const { code, details } = problems.find((problem) => problem.code) ?? {};
  const lines = connectionText(name, written).split('\n');
  throw errorOf('usage', { message: problems.map((problem) => problemText(problem, lines)).join('\n'), code, details });
}

function checkedConnection(name: string, written: object, allowHttp: boolean): { connection: Connection | undefined; problems: Problem[] } {
  const source = readSource(connectionText(name, written));
  const problems = [...source.problems];
  const [connection] = compileConnections({ [name]: written }, { source, problems, allowHttp, isSaved: true }).values();
  return { connection, problems };
}

/** Returns the message of a connection's first problem, without its position; undefined if the connection is valid. */
export function connectionProblem(written: object): string | undefined {
  const { problems } = checkedConnection('connection', written, false);
  return problems[0]?.message.split('\n')[0];
}

/**
 * Returns a problem as text: the message, the line with the mistake, and the advice below. In place of a hidden line, shows only the
 * option's name if it is an option of `auth`.
 */
function problemText({ message, line = 0, source }: Problem, lines: readonly string[]): string {
  const option = /^\s*(\w+):/.exec(lines[line - 1] ?? '')?.[1] ?? '';
  const place = source?.text.trim() ?? (authOptions.has(option) ? option : '');
  const [first, ...more] = message.split('\n');
  return [place === '' ? first : `${first} (${place})`, ...more].join('\n');
}

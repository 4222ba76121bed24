import { stringify } from 'yaml';
import { authOptions } from '../core/auth/auth.ts';
import type { Connection } from '../core/connection.ts';
import { errorOf, type Problem } from '../core/failure.ts';
import { compileConnections } from './connections.ts';
import { readSource } from './source.ts';

/** A connection as a flow writes it. */
export function connectionText(name: string, written: object): string {
  return stringify({ connections: { [name]: written } }, { lineWidth: 0 }).trimEnd();
}

/** Compiles a saved connection like one in a flow. Throws an AutomateError (`usage`) with all problems and the code of the first that has one. */
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

/** The first problem of a connection, without its place. Undefined if the connection is valid. */
export function connectionProblem(written: object): string | undefined {
  const { problems } = checkedConnection('connection', written, false);
  return problems[0]?.message.split('\n')[0];
}

/** A problem with its line, and the way out below it. Of a hidden line, only the name of an option under `auth` is shown. */
function problemText({ message, line = 0, source }: Problem, lines: readonly string[]): string {
  const option = /^\s*(\w+):/.exec(lines[line - 1] ?? '')?.[1] ?? '';
  const place = source?.text.trim() ?? (authOptions.has(option) ? option : '');
  const [first, ...more] = message.split('\n');
  return [place === '' ? first : `${first} (${place})`, ...more].join('\n');
}

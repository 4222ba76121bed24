import { readFile } from 'node:fs/promises';
import { FlowError } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import { compile } from '../flow/compile.ts';
import { credentialVariable } from '../io/credentials/environment.ts';
import { createCredentials } from '../io/credentials/lookup.ts';
import type { Redactor } from '../io/redact.ts';
import { nodeTypes } from '../nodes/index.ts';
import { problemText } from './show/problems.ts';
import type { Terminal } from './terminal.ts';

/** What the command line adds to a flow file. */
export interface FlowFileOptions {
  readonly allowHttp: boolean;
  readonly textCells: boolean;
  readonly columns?: readonly string[] | undefined;
}

/** Reads and compiles a flow file. Throws a FlowError. */
export async function loadFlow(file: string, options: FlowFileOptions): Promise<Plan> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message;
    throw new FlowError(file, [{ message: `the flow file cannot be read: ${reason}` }]);
  });
  return compile(text, { file, nodeTypes, ...options });
}

/** Throws a FlowError when a reference names a field that no record can have. */
export function checkFields(plan: Plan, file: string, columns: readonly string[]): void {
  const problems = plan.unknownFields(columns);
  if (problems.length > 0) throw new FlowError(file, problems);
}

/** Prints what is likely not meant. */
export function tellWarnings(plan: Plan, file: string, { tell, colors }: Terminal): void {
  for (const warning of plan.warnings) tell(problemText(file, warning, colors, 'warning'));
}

/** The secrets that a flow needs, by name. From now on they are never printed. Throws a FlowError (`credential`) that names all that are missing. */
export async function loadSecrets(plan: Plan, file: string, redactor: Redactor): Promise<ReadonlyMap<string, string>> {
  const store = createCredentials(process.env);
  const secrets = new Map<string, string>();
  const problems = [];
  for (const use of plan.credentials) {
    const secret = secrets.get(use.name) ?? (await store.find(use.name));
    if (secret === undefined) problems.push(use.problem(missing(use.name)));
    else {
      secrets.set(use.name, secret);
      redactor.add(secret);
      // A basic secret is `username:password`, and the password alone is as secret.
      if (secret.includes(':')) redactor.add(secret.slice(secret.indexOf(':') + 1));
      else if (use.isPair) problems.push(use.problem(noPair));
    }
  }
  if (problems.length > 0) throw new FlowError(file, problems, 'credential');
  return secrets;
}

const noPair =
  'expected username:password, found no ":"\nor name the user in the flow: auth: { type: basic, username: NAME, credential: NAME }';

function missing(name: string): string {
  const variable = credentialVariable(name);
  const empty = [variable, `${variable}_FILE`].find((candidate) => process.env[candidate] === '');
  const found = empty === undefined ? `there is no credential "${name}"` : `the credential "${name}" is empty: ${empty} is set to nothing`;
  return `${found}\nset ${variable}, or ${variable}_FILE to the name of a file that holds it`;
}

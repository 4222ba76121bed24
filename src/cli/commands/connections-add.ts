import { rateIntervalMs } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import { name as nameShape } from '../../core/options.ts';
import { didYouMean } from '../../core/suggest.ts';
import { compileSavedConnection, connectionProblem, connectionText } from '../../flow/saved-connection.ts';
import { changeConnections, savedConnections } from '../../io/connections.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import { envOption } from '../../io/credentials/secret.ts';
import { type Asker, findAsker } from '../ask.ts';
import { openCredentials } from '../credential-store.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';
import { type AuthOptions, authOf, exampleOf, type WrittenAuth } from './connections-auth.ts';
import { setCommand } from './credentials-set.ts';

/** The options of `automate connections add http`. */
export interface AddOptions extends AuthOptions {
  readonly baseUrl?: string;
  readonly setHeader: readonly [string, string][];
  readonly rate?: string;
  readonly concurrency?: number;
  readonly allowHttp?: boolean;
  readonly force?: boolean;
}

/** Saves a connection. Whoever is at a terminal is asked for what is missing. Answers the exit code. */
export async function addCommand(
  type: string | undefined,
  name: string | undefined,
  options: AddOptions,
  terminal: Terminal,
): Promise<number> {
  refuseOtherTypes(type);
  const asker = findAsker();
  const called = name ?? (await askedName(asker, options));
  const problem = nameProblem(called, options);
  if (problem !== undefined) throw new AutomateError('usage', problem);
  const { written, auth } = await connectionOf(options, asker);
  try {
    compileSavedConnection(called, written, false);
  } catch (error) {
    throw new AutomateError('usage', (error as Error).message);
  }
  await changeConnections(process.env, (saved) => {
    if (Object.hasOwn(saved, called) && !options.force) throw new AutomateError('usage', existing(called));
    return { ...saved, [called]: written };
  });
  await terminal.print(connectionText(called, written));
  terminal.tell(`"${called}" is saved; try it: automate connections test ${called}`);
  try {
    if (auth) await offerSecret(auth, asker, terminal);
  } catch (error) {
    if (!(error instanceof AutomateError) || error.kind !== 'cancelled') throw error;
    throw new AutomateError('cancelled', `cancelled; "${called}" is saved all the same, without a secret`);
  }
  return exitCodes.success;

  async function connectionOf(
    { baseUrl, rate, setHeader, concurrency, allowHttp }: AddOptions,
    asker: Asker | undefined,
  ): Promise<{ written: Record<string, unknown>; auth: WrittenAuth | undefined }> {
    const isWalk = baseUrl === undefined;
    const base_url = baseUrl ?? (await askedUrl(asker, allowHttp ?? false));
    const auth = await authOf(called, options, asker, isWalk);
    const limit = rate ?? (isWalk && asker ? await askedRate(asker) : undefined);
    const written = {
      type: 'http',
      base_url,
      ...(auth && { auth }),
      ...(setHeader.length > 0 && { headers: headersOf(setHeader) }),
      ...(limit !== undefined && { rate: limit }),
      ...(concurrency !== undefined && { concurrency }),
      ...(allowHttp && { allow_http: true }),
    };
    return { written, auth };
  }
}

function refuseOtherTypes(type: string | undefined): void {
  if (type === undefined || type === 'http') return;
  const hint = type === 'mcp' ? '; MCP connections are not there yet' : didYouMean(type, ['http']);
  throw new AutomateError('usage', `expected a connection of type http, found "${type}"${hint}\nas in: ${exampleOf('bearer')}`);
}

async function askedName(asker: Asker | undefined, options: AddOptions): Promise<string> {
  if (!asker) throw new AutomateError('usage', `expected a name, as in: ${exampleOf('bearer')}`);
  return asker.text('Name of the connection', { placeholder: 'crm', check: (answer) => nameProblem(answer, options) });
}

function nameProblem(name: string, { force }: AddOptions): string | undefined {
  const { error } = nameShape.safeParse(name);
  if (error) return error.issues[0]?.message;
  return !force && Object.hasOwn(savedConnections(process.env), name) ? existing(name) : undefined;
}

function existing(name: string): string {
  return `there is a connection "${name}" already\nreplace it with --force`;
}

async function askedUrl(asker: Asker | undefined, allowHttp: boolean): Promise<string> {
  if (!asker) throw new AutomateError('usage', `expected --base-url, as in: ${exampleOf('bearer')}`);
  const check = (answer: string) => connectionProblem({ type: 'http', base_url: answer, allow_http: allowHttp });
  return asker.text('Base URL', { placeholder: 'https://crm.example.com/v2', check });
}

/** Absent for no limit. */
async function askedRate(asker: Asker): Promise<string | undefined> {
  const answer = await asker.text('At most so many requests in a time, such as 10/s (empty for no limit)', { check: rateProblem });
  return answer || undefined;
}

function rateProblem(answer: string): string | undefined {
  return answer === '' || rateIntervalMs(answer) !== undefined ? undefined : 'expected a rate such as 10/s, 600/min, 5000/h';
}

function headersOf(given: AddOptions['setHeader']): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [header, value] of given) {
    if (headers.has(header)) throw new AutomateError('usage', `--set-header: the header "${header}" is there already`);
    headers.set(header, value);
  }
  return Object.fromEntries(headers);
}

/** Without its secret the connection is of no use yet. */
async function offerSecret({ type, credential, username }: WrittenAuth, asker: Asker | undefined, terminal: Terminal): Promise<void> {
  if (variableWith(credential, process.env) !== undefined) return;
  const store = openCredentials(undefined, terminal);
  if (store.kept().some(({ name, env }) => name === credential && env === store.env)) return;
  const isPair = type === 'basic' && username === undefined;
  if (isPair) terminal.tell(`the secret of "${credential}" has to be username:password`);
  if (asker && process.stdin.isTTY && (await asker.yes(`There is no credential "${credential}" yet. Keep its secret now?`)))
    await setCommand(credential, {}, terminal);
  else terminal.tell(`there is no credential "${credential}" yet; keep it: automate credentials set ${credential}${envOption(store.env)}`);
}

import { rateIntervalMs } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { compileSavedConnection, connectionProblem, connectionText } from '../../flow/saved-connection.ts';
import { changeConnections } from '../../io/connections.ts';
import { type Asker, findAsker } from '../ask.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';
import type { AddMcpOptions } from './connections-add-mcp.ts';
import { type AuthOptions, authOf, exampleOf, type WrittenAuth } from './connections-auth.ts';
import { askedName, existing, headersOf, nameProblem, offerSecret } from './connections-saving.ts';

/** The options of `automate connections add http`. */
export interface AddOptions extends AuthOptions {
  readonly baseUrl?: string;
  readonly setHeader: readonly [string, string][];
  readonly rate?: string;
  readonly concurrency?: number;
  readonly allowHttp?: boolean;
  readonly force?: boolean;
}

/** The options of `automate connections add`, of whatever type. */
export type AnyAddOptions = AddOptions & Omit<AddMcpOptions, keyof AddOptions>;

/** Saves a connection. Whoever is at a terminal is asked for what is missing. Answers the exit code. */
export async function addCommand(
  { type, name }: { readonly type?: string; readonly name?: string },
  options: AnyAddOptions,
  terminal: Terminal,
): Promise<number> {
  refuseOtherTypes(type);
  if (typeOf(type, options) === 'mcp') return (await import('./connections-add-mcp.ts')).addMcpCommand(name, options, terminal);
  refuseOptionsOfMcp(options);
  const asker = findAsker();
  const called = name ?? (await askedName(asker, options, 'http'));
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
  terminal.say(`"${called}" is saved; try it: automate connections test ${called}`);
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
    const auth = await authOf(called, options, { asker, isWalk });
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
  if (type === undefined || type === 'http' || type === 'mcp') return;
  const hint = didYouMean(type, ['http', 'mcp']);
  throw new AutomateError('usage', `expected a connection of type http or mcp, found "${type}"${hint}\nas in: ${exampleOf('bearer')}`);
}

/** Without a type, the options tell. */
function typeOf(type: string | undefined, { url, command }: AnyAddOptions): string {
  return type ?? (url !== undefined || command !== undefined ? 'mcp' : 'http');
}

/** What would be left out without a word was meant for an MCP server. */
function refuseOptionsOfMcp({ url, command, passEnv, passCredential, startTimeout }: AnyAddOptions): void {
  const found = Object.entries({
    '--url': url,
    '--command': command,
    '--pass-env': passEnv,
    '--pass-credential': passCredential,
    '--start-timeout': startTimeout,
  });
  const [other] = found.find(([, value]) => value !== undefined) ?? [];
  if (other === undefined) return;
  const hint = other === '--url' ? '; did you mean --base-url?' : '';
  throw new AutomateError('usage', `${other} is for connections of type mcp${hint}`);
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

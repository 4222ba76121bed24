import { excerpt } from '../../core/answer/response.ts';
import { Failure, LimitReached } from '../../core/failure.ts';
import { type RenewalSource, Renewals } from '../auth/renewals.ts';
import { createRedactor } from '../secrets/redact.ts';
import { type CommandEnd, type CommandTools, commandWords, type LentTerminal, runCommand } from './command-run.ts';
import { utf8Of } from './environment.ts';
import { defaultEnv, type Secret, type StoredCommand } from './secret.ts';

/** The flow or command that uses secrets. */
export interface SecretUser {
  /** Masks a secret from now on. */
  hide(secret: string): void;
  /** The reason why a secret cannot be used; undefined if it can. */
  problem?(credential: string, secret: string): string | undefined;
  /** Lends the terminal to a command; undefined if no person can be asked. */
  lend?: (() => LentTerminal | undefined) | undefined;
}

/** For this long after a secret has come, a 401 is no reason to run its command again. */
const youngMs = 10_000;

/** The commands of the whole process: each runs once, until its time is over or a server refuses the secret. Those who need it meanwhile wait. */
export class SecretCommands {
  readonly #tools: CommandTools;
  readonly #renewals: Renewals;
  /** Every secret that a command has ever given, by its key. */
  readonly #given = new Map<string, Set<string>>();

  constructor(tools: CommandTools) {
    this.#tools = tools;
    this.#renewals = new Renewals(tools.clock.now);
  }

  /** The secrets of some commands. `home`: of the list that has them. */
  forUser(commands: readonly StoredCommand[], home: string, user: SecretUser): CommandSecrets {
    const sources = commands.map((command) => [command.name, this.#sourceOf(command, home, user)] as const);
    return new CommandSecrets(new Map(commands.map((command) => [command.name, command])), new Map(sources), this.#renewals, user);
  }

  #sourceOf(command: StoredCommand, home: string, user: SecretUser): CommandSource {
    const { env, name, setAt, forMs = Number.POSITIVE_INFINITY } = command;
    const key = JSON.stringify([home, env, name, setAt]);
    const given = this.#given.get(key) ?? new Set();
    this.#given.set(key, given);
    const request = async () => {
      const text = await this.#run(command, given, user);
      given.add(text);
      return { text, lifetimeMs: forMs };
    };
    return { key, youngMs, request, given };
  }

  async #run(command: StoredCommand, given: ReadonlySet<string>, user: SecretUser): Promise<string> {
    const words = await commandWords(command.command).catch((error: Error) => {
      throw noSecret(command, `cannot be read: ${error.message}`);
    });
    const terminal = user.lend?.();
    const end = await runCommand(words, this.#tools, terminal).finally(() => terminal?.giveBack());
    const found = secretIn(end);
    if ('secret' in found) return found.secret;
    // It may have written the secret all the same.
    const { lines } = found;
    for (const line of lines) user.hide(line);
    const redactor = createRedactor();
    for (const text of [...lines, ...given]) redactor.add(text);
    const said = excerpt(redactor.text(end.lastLine));
    throw noSecret(command, `${found.problem}${said === '' ? '' : `: ${said}`}`);
  }
}

interface CommandSource extends RenewalSource {
  readonly given: ReadonlySet<string>;
}

/** The secrets that commands give to one flow. A command is run when its secret is needed first. */
export class CommandSecrets {
  readonly #sources: ReadonlyMap<string, CommandSource>;
  readonly #renewals: Renewals;
  readonly #user: SecretUser;

  constructor(
    /** The commands, by the name of their credential. */
    readonly commands: ReadonlyMap<string, StoredCommand>,
    sources: ReadonlyMap<string, CommandSource>,
    renewals: Renewals,
    user: SecretUser,
  ) {
    this.#sources = sources;
    this.#renewals = renewals;
    this.#user = user;
  }

  /** The present secrets of these credentials; names of others are left out. Throws LimitReached. */
  async find(names: Iterable<string>): Promise<ReadonlyMap<string, Secret>> {
    const known = this.#known(names);
    return this.#withTexts(known, await this.#renewals.current(this.#sourcesOf(known)));
  }

  /**
   * Sends with the secrets of these credentials; names of others are left out. After a 401 it sends once more, with new secrets. Throws
   * LimitReached if a command gives none.
   */
  sendWith<Answer extends { readonly status: number }>(
    names: Iterable<string>,
    send: (secrets: ReadonlyMap<string, Secret>, refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    const known = this.#known(names);
    return this.#renewals.sendWith<Answer>(this.#sourcesOf(known), (texts, refused) => send(this.#withTexts(known, texts), refused));
  }

  /** Uses the secret of a credential, and once more with a new one if the use ends with a Failure for a 401. */
  async use<Result>(name: string, use: (secret: Secret) => Promise<Result>): Promise<Result> {
    type End = { readonly status: number; readonly result?: Result; readonly failure?: Failure };
    const { result, failure } = await this.sendWith<End>([name], async (secrets) => {
      try {
        return { status: 200, result: await use(secrets.get(name) as Secret) };
      } catch (error) {
        if (error instanceof Failure && error.status === 401) return { status: 401, failure: error };
        throw error;
      }
    });
    if (failure) throw failure;
    return result as Result;
  }

  #known(names: Iterable<string>): string[] {
    return [...new Set(names)].filter((name) => this.commands.has(name));
  }

  #sourcesOf(names: readonly string[]): CommandSource[] {
    return names.map((name) => this.#sources.get(name) as CommandSource);
  }

  #withTexts(names: readonly string[], texts: readonly string[]): Map<string, Secret> {
    return new Map(names.map((name, index) => [name, this.#secretOf(name, texts[index] as string)]));
  }

  #secretOf(name: string, text: string): Secret {
    const command = this.commands.get(name) as StoredCommand;
    // Another run may have asked for them.
    for (const given of this.#sources.get(name)?.given ?? []) this.#user.hide(given);
    const problem = this.#user.problem?.(name, text);
    if (problem !== undefined) throw noSecret(command, `gives something else: ${problem}`);
    const { setAt, expiresAt, hosts, env, previous } = command;
    const limits = { ...(expiresAt && { expiresAt }), ...(hosts && { hosts }), ...(env !== defaultEnv && { env }) };
    return { text, from: 'its command', setAt, hasPrevious: previous !== undefined, ...limits };
  }
}

type Found = { readonly secret: string } | { readonly problem: string; readonly lines: readonly string[] };

/** The secret that a command has printed: one line, without its line break. */
function secretIn({ stdout, isSuccess, how }: CommandEnd): Found {
  const lines = stdout.toString('utf8').split(/\r?\n/);
  if (!isSuccess) return { problem: how, lines };
  let text: string;
  try {
    text = utf8Of(stdout).replace(/\r?\n$/, '');
  } catch {
    return { problem: `gave no UTF-8 (${how})`, lines };
  }
  if (text.trim() === '') return { problem: `gave nothing (${how})`, lines };
  if (/[\r\n]/.test(text)) return { problem: `gave more than one line (${how})`, lines };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
  if (/[\x00-\x1f\x7f]/.test(text)) return { problem: `gave a control character (${how})`, lines };
  return { secret: text };
}

function noSecret({ name, env }: StoredCommand, problem: string): LimitReached {
  return new LimitReached(`the command of the credential "${name}" ${problem}`, 'refused-credential', {
    code: 'credential',
    details: { credential: name, env, remedy: 'command' },
  });
}

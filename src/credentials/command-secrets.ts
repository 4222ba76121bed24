import { excerpt } from '../core/answer/response.ts';
import { Failure, LimitReached } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { orUndefined } from '../core/value/value.ts';
import { createClock } from '../files/clock.ts';
import { homeIfAny } from '../files/home.ts';
import { type CommandEnd, type CommandTools, commandWords, type LentTerminal, runCommand } from './command-run.ts';
import { isDocument, secretsInEnvironment, utf8Of } from './environment.ts';
import { createRedactor } from './redact.ts';
import { type RenewalSource, Renewals } from './renewals.ts';
import { type Secret, type StoredCommand, textsToMask } from './secret.ts';

/** A part of the program that uses secrets. It decides how secrets are masked, checked and asked for. */
export interface SecretUser {
  hide(secret: string): void;
  problem?(credential: string, secret: string): string | undefined;
  /** Lends the terminal to a command that may prompt the user. It is undefined, or returns undefined, if there is no user to prompt. */
  lend?: () => LentTerminal | undefined;
}

/** For this many ms after a command has printed its secret, a 401 does not make the command run again. */
const youngMs = 10_000;

/**
 * Runs commands that print secrets, for all flows in this process: each command once, and again only when its secret expires or a server
 * rejects it. While it runs, all callers that need its secret wait.
 * @internal
 */
export class SecretCommands {
  readonly #tools: CommandTools;
  readonly #renewals: Renewals;
  /** All secrets printed so far, keyed by the command's key. */
  readonly #given = new Map<string, Set<string>>();

  constructor(tools: CommandTools) {
    this.#tools = tools;
    this.#renewals = new Renewals(tools.clock.now);
  }

  /** `home` is the folder with the list of credentials that contains these commands. */
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
      return { text, lifetimeMs: Math.min(forMs, untilExpirationMs(text, (this.#tools.clock.wallNow ?? Date.now)())) };
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
    // A command that failed may still have printed a secret, so everything that it printed is masked. Its last line on stderr is shown, with
    // the secrets of other credentials masked, too.
    const { lines } = found;
    for (const line of lines) user.hide(line);
    const redactor = createRedactor();
    const others = (await secretsInEnvironment(this.#tools.environment)).flatMap(textsToMask);
    for (const text of [...lines, ...given, ...others]) redactor.add(text);
    const said = excerpt(redactor.text(end.lastLine));
    throw noSecret(command, `${found.problem}${said === '' ? '' : `: ${said}`}`);
  }
}

interface CommandSource extends RenewalSource {
  readonly given: ReadonlySet<string>;
}

/** The secrets that commands print for one flow. Each command is run when its secret is first needed. */
export class CommandSecrets {
  readonly #sources: ReadonlyMap<string, CommandSource>;
  readonly #renewals: Renewals;
  readonly #user: SecretUser;

  constructor(
    /** The commands that print secrets, keyed by the names of their credentials. */
    readonly commands: ReadonlyMap<string, StoredCommand>,
    sources: ReadonlyMap<string, CommandSource>,
    renewals: Renewals,
    user: SecretUser,
  ) {
    this.#sources = sources;
    this.#renewals = renewals;
    this.#user = user;
  }

  /** Keyed by credential name; credentials without a command are left out. Throws LimitReached if a command prints no secret. */
  async find(names: Iterable<string>): Promise<ReadonlyMap<string, Secret>> {
    const known = this.#known(names);
    return this.#withTexts(known, await this.#renewals.current(this.#sourcesOf(known)));
  }

  /** After a 401, calls `send` again with new secrets. Leaves out credentials without a command. Throws LimitReached without a secret. */
  sendWith<Answer extends { readonly status: number }>(
    names: Iterable<string>,
    send: (secrets: ReadonlyMap<string, Secret>, refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    const known = this.#known(names);
    return this.#renewals.sendWith<Answer>(this.#sourcesOf(known), (texts, refused) => send(this.#withTexts(known, texts), refused));
  }

  /** If `use` fails with a 401, calls it once more with a new secret. */
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
    // The command may have run for another flow, so its secrets are not masked in this flow's output yet.
    for (const given of this.#sources.get(name)?.given ?? []) this.#user.hide(given);
    const problem = this.#user.problem?.(name, text);
    if (problem !== undefined) throw noSecret(command, `did not print a usable secret: ${problem}`);
    const { setAt, expiresAt, hosts, env, previous } = command;
    const limits = { expiresAt, hosts, env: env === defaultEnv ? undefined : env };
    return { text, from: 'its command', setAt, hasPrevious: previous !== undefined, ...limits };
  }
}

/** A secret is renewed this many ms before it expires, so that no request that is sent with it arrives too late. */
const marginMs = 60_000;

/** The JSON of `aws configure export-credentials`, and of other programs for AWS (credential_process), says when its secret expires. */
function untilExpirationMs(text: string, nowMs: number): number {
  const { Expiration } = Object(/^\s*\{/.test(text) ? orUndefined(() => JSON.parse(text) as unknown) : undefined) as {
    Expiration?: unknown;
  };
  const leftMs = Date.parse(String(Expiration ?? '')) - nowMs - marginMs;
  return Number.isNaN(leftMs) ? Number.POSITIVE_INFINITY : Math.max(1000, leftMs);
}

type FoundSecret = { readonly secret: string } | { readonly problem: string; readonly lines: readonly string[] };

/** Leaves out the line break. If the output is not a secret on one line, returns the reason. */
function secretIn({ stdout, isSuccess, how }: CommandEnd): FoundSecret {
  const lines = stdout.toString('utf8').split(/\r?\n/);
  if (!isSuccess) return { problem: how, lines };
  let text: string;
  try {
    text = utf8Of(stdout).replace(/\r?\n$/, '');
  } catch {
    return { problem: `printed text that is not UTF-8 (${how})`, lines };
  }
  if (text.trim() === '') return { problem: `printed nothing (${how})`, lines };
  if (isDocument(text)) return { secret: text };
  if (/[\r\n]/.test(text)) return { problem: `printed more than one line (${how})`, lines };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot contain them
  if (/[\x00-\x1f\x7f]/.test(text)) return { problem: `printed a control character (${how})`, lines };
  return { secret: text };
}

function noSecret({ name, env }: StoredCommand, problem: string): LimitReached {
  return new LimitReached(`the command of the credential "${name}" ${problem}`, 'refused-credential', {
    code: 'credential',
    details: { credential: name, env, remedy: 'command' },
  });
}

/** All runs of this process share the printed secrets. */
const secretCommands = new SecretCommands({
  get environment() {
    return process.env;
  },
  clock: createClock(),
});

export function secretCommandsOf(commands: readonly StoredCommand[], user: SecretUser): CommandSecrets {
  return secretCommands.forUser(commands, homeIfAny(process.env) ?? '', user);
}

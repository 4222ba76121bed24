import { hostname } from 'node:os';
import { durationText } from '../../core/duration.ts';
import { AutomateError, Failure, usageError } from '../../core/failure.ts';
import { type NoticeTarget, noticeTargets, type RunOutcome, usualConditions } from '../../core/notice.ts';
import { isLoopback, targetOf } from '../../core/template/url.ts';
import { counted, formatCount } from '../../core/text/number.ts';
import { version } from '../../core/version.ts';
import { loadSecretsOf } from '../../credentials/flow-secrets.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../../credentials/secret.ts';
import { createClock } from '../../files/clock.ts';
import { createTransport, type Transport } from '../../http/transport.ts';
import { doneOf } from '../../report/reported-run.ts';
import { type RunView, summaryJson } from '../../report/run-view.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { messageWithAdvice } from '../advice.ts';
import type { Terminal } from '../terminal.ts';
import type { GivenRunOptions } from './run-options.ts';

export type NoticeOptions = Partial<Pick<GivenRunOptions, 'notify' | 'notifyIf' | 'env' | 'cacert'>>;

/** With the pause between them, both attempts take at most 10 s. */
const attempts = 2;
const attemptMs = 4500;
const pauseMs = 1000;

const maxAnswerBytes = 65_536;

export interface RunNotice {
  /** The flow or, in a retry, the output, as the user has written it. */
  readonly label: string;
  readonly exitCode: number;
  readonly ms: number;
  /** Undefined if the run could not start. */
  readonly view: RunView | undefined;
}

interface Receiver extends NoticeTarget {
  readonly origin: string;
  readonly path: string;
}

/** Tells others how a run has ended. What cannot be told is a warning, and never changes how the command ends. */
export class Notices {
  readonly #receivers: readonly Receiver[];
  readonly #conditions: GivenRunOptions['notifyIf'];
  readonly #transport: Transport;
  readonly #terminal: Terminal;
  #isSent = false;

  private constructor(receivers: readonly Receiver[], conditions: GivenRunOptions['notifyIf'], transport: Transport, terminal: Terminal) {
    this.#receivers = receivers;
    this.#conditions = conditions;
    this.#transport = transport;
    this.#terminal = terminal;
  }

  /** Undefined if nobody is told. Throws an AutomateError (`usage`) if AUTOMATE_NOTIFY is not valid. */
  static async open(options: NoticeOptions, terminal: Terminal): Promise<Notices | undefined> {
    const targets = options.notify ?? inEnvironment(process.env.AUTOMATE_NOTIFY);
    if (targets.length === 0) return undefined;
    const found = await Promise.all(targets.map((target) => receiverOf(target, options, terminal)));
    const receivers = found.filter((receiver) => receiver !== undefined);
    const { now, wallNow } = createClock();
    const transport = createTransport({
      cacert: options.cacert,
      environment: process.env,
      userAgent: `automate/${version}`,
      now,
      wallNow,
    });
    return new Notices(receivers, options.notifyIf, transport, terminal);
  }

  get isEmpty(): boolean {
    return this.#receivers.length === 0;
  }

  async send(run: RunNotice): Promise<void> {
    if (this.#isSent) return;
    this.#isSent = true;
    const { view, exitCode, ms } = run;
    const ended: RunOutcome = {
      exitCode,
      ms,
      read: view && doneOf(view.counts),
      failed: view?.counts.failed,
      isPilot: view?.endingCode === 'pilot',
    };
    const isDue = (this.#conditions ?? usualConditions).some((condition) => condition(ended));
    const due = this.#receivers.filter(({ kind }) => isDue || kind === 'ping');
    await Promise.all(due.map((receiver) => this.#tell(receiver, this.#requestOf(receiver, run))));
  }

  async test(): Promise<boolean> {
    const text = `a test message of automate on ${hostname()}`;
    const sent = this.#receivers.map((receiver) => {
      const body = receiver.kind === 'slack' ? { text } : { state: 'test', machine: hostname() };
      return this.#tell(
        receiver,
        receiver.kind === 'ping'
          ? { method: 'GET' as const, path: receiver.path, headers: {} }
          : jsonRequest(receiver, JSON.stringify(body)),
      );
    });
    return (await Promise.all(sent)).every(Boolean);
  }

  #requestOf(receiver: Receiver, run: RunNotice): SentNotice {
    if (receiver.kind === 'ping')
      return { method: 'GET', headers: {}, path: run.exitCode === exitCodes.success ? receiver.path : failPath(receiver.path) };
    const body = receiver.kind === 'slack' ? JSON.stringify({ text: noticeText(run) }) : noticeJson(run);
    return jsonRequest(receiver, this.#terminal.redactor.text(body));
  }

  async #tell({ kind, credential, origin }: Receiver, request: SentNotice): Promise<boolean> {
    const { now, sleepUntil } = createClock();
    let problem = '';
    for (let attempt = 1; attempt <= attempts; attempt++) {
      if (attempt > 1) await sleepUntil(now() + pauseMs);
      const limits = { timeoutMs: attemptMs, deadlineMs: now() + attemptMs, maxBodyBytes: maxAnswerBytes };
      try {
        const { status } = await this.#transport.send({ ...request, ...limits, origin });
        if (status >= 200 && status <= 299) return true;
        problem = `the server answered ${status}`;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        problem = error.message.split('\n')[0] as string;
      }
    }
    this.#terminal.warn(`the notice ${kind}:${credential} was not sent: ${problem}`);
    return false;
  }
}

interface SentNotice {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

function inEnvironment(text = ''): readonly NoticeTarget[] {
  return text
    .split(/\s+/)
    .filter((word) => word !== '')
    .reduce<readonly NoticeTarget[]>((targets, word) => {
      const parsed = noticeTargets.parse(word, targets);
      if (!parsed) throw usageError(`AUTOMATE_NOTIFY: expected ${noticeTargets.expected}, found ${word}`);
      return parsed;
    }, []);
}

/** Undefined, after a warning, if there is no usable address. */
async function receiverOf(target: NoticeTarget, options: NoticeOptions, terminal: Terminal): Promise<Receiver | undefined> {
  const { kind, credential } = target;
  const refuse = (reason: string) => terminal.warn(`the notice ${kind}:${credential} cannot be sent: ${reason}`);
  try {
    const { text, hosts } = await addressOf(credential, options, terminal);
    const address = text.trim();
    terminal.redactor.add(address);
    const isPlain = /^http:/i.test(address);
    const { origin, path } = targetOf(address, { allowHttp: true });
    terminal.redactor.add(path);
    if (isPlain && !isLoopback(new URL(origin).hostname)) refuse('expected an address that begins with https://, found http://');
    else if (!isAllowedHost(origin, hosts)) refuse(hostRefusal(credential, { hosts }, origin));
    else return { ...target, origin, path };
  } catch (error) {
    if (!(error instanceof AutomateError || error instanceof Failure)) throw error;
    refuse(error instanceof Failure ? 'its secret is not an address' : messageWithAdvice(error));
  }
  return undefined;
}

async function addressOf(name: string, { env }: NoticeOptions, terminal: Terminal): Promise<Secret> {
  const use = { name, field: name, isPair: false, origins: [], problem: (message: string) => ({ message }) };
  const { secrets, commands } = await loadSecretsOf([use as never], '', { env }, terminal);
  const secret = secrets.get(name) ?? (await commands?.find([name]))?.get(name);
  if (!secret) throw new AutomateError('credential', `there is no credential "${name}": automate credentials set ${name}`);
  return secret;
}

function jsonRequest({ path }: Receiver, body: string): SentNotice {
  return { method: 'POST', path, headers: { 'content-type': 'application/json' }, body };
}

/** Puts `/fail` behind the path, as services that wait for a job expect (healthchecks.io/docs/signaling_failures). */
function failPath(path: string): string {
  const [, before = '', query = ''] = /^([^?]*?)\/?(\?.*)?$/.exec(path) ?? [];
  return `${before}/fail${query}`;
}

const tooManyGone = 'too many records are gone from the input, so nothing is replaced';

/** The reasons why a run did not start. Messages of errors can contain values of records. */
const reasons: Readonly<Record<number, string>> = {
  [exitCodes.bug]: 'an unexpected error',
  [exitCodes.usage]: 'the command line is wrong',
  [exitCodes.flow]: 'the flow is not valid',
  [exitCodes.stoppedEarly]: tooManyGone,
  [exitCodes.input]: 'the input cannot be read',
  [exitCodes.credential]: 'a credential or connection is missing or refused',
  [exitCodes['output-exists']]: 'the output exists or is in use',
  [exitCodes.output]: 'the output cannot be written',
};

/** Has no value of a record, and no text of an answer. */
function noticeText({ label, exitCode, view }: RunNotice): string {
  if (!view) {
    const reason = reasons[exitCode] ?? (exitCode > 128 ? 'it was ended by a signal' : 'an error');
    const what = exitCode === exitCodes.stoppedEarly ? reason : `the run did not start: ${reason}`;
    return `${label} on ${hostname()}: ${what} (exit code ${exitCode})`;
  }
  const { counts, failures, next } = view;
  const numbers = `${formatCount(doneOf(counts))} read, ${formatCount(counts.written)} written, ${formatCount(counts.failed)} failed`;
  const isBroken = view.endingCode === 'failed';
  const why = isBroken || view.endingCode !== 'complete' ? ` (${isBroken ? (reasons[exitCode] ?? 'an error') : view.endingCode})` : '';
  return [
    `${view.flowFile ?? label} on ${hostname()}: ${view.ending ?? view.state}${why}: ${numbers} in ${durationText(view.ms)}`,
    ...failures.map(
      ({ node, class: kind, status, count }) =>
        `  ${node ?? 'input'}  ${[kind, status].filter(Boolean).join(' ')}: ${counted(count, 'record')}`,
    ),
    ...next.map(({ command }) => `continue: ${command}`),
  ].join('\n');
}

/** The members of the summary that contain neither values of records nor texts of answers. */
const safeMembers = [
  ...['gone', 'joins', 'checks', 'lookups', 'searches', 'concurrency', 'learned_rates', 'replaced', 'attributions'],
  ...['flow', 'ending', 'exit_code', 'read', 'written', 'failed', 'filtered', 'unchanged', 'whole', 'kept', 'waiting', 'output_records'],
  ...[
    'error_records',
    'resumed_behind',
    'retries',
    'cached',
    'cached_in_flight',
    'credits_saved',
    'credits',
    'tokens',
    'allowance',
    'workers',
  ],
  ...['maybe_spent', 'ms', 'response_ms', 'paused_ms', 'records_per_second', 'input', 'output', 'errors', 'mapped', 'never_found', 'next'],
];

function noticeJson({ label, exitCode, ms, view }: RunNotice): string {
  const machine = hostname();
  if (!view) return JSON.stringify({ flow: label, state: 'failed', machine, exit_code: exitCode, ms: Math.round(ms) });
  const summary = JSON.parse(summaryJson(view)) as Record<string, unknown>;
  const members = safeMembers.flatMap((name) => (summary[name] === undefined ? [] : [[name, summary[name]] as const]));
  const failures = view.failures.map(({ node, class: kind, status, count }) => ({ node, class: kind, status, count }));
  return JSON.stringify({ state: view.state, machine, ...Object.fromEntries(members), failures });
}

export async function notifyCommand(target: string, options: NoticeOptions, terminal: Terminal): Promise<number> {
  const notify = noticeTargets.parse(target);
  if (!notify) throw usageError(`expected ${noticeTargets.expected}, found ${target}`);
  const notices = await Notices.open({ ...options, notify }, terminal);
  if (!notices || notices.isEmpty) return exitCodes.credential;
  if (!(await notices.test())) return exitCodes.problemsFound;
  terminal.say(`sent a test message to ${target}`);
  return exitCodes.success;
}

import { answerMessage, excerpt, readBody } from '../../core/answer/response.ts';
import { hasStatus } from '../../core/call.ts';
import { CredentialRefused, Failure, LimitReached } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { readIfPossible } from '../http/answer-reader.ts';
import { type ModelAccepted, type TokenPrice, UnusableAnswer, withUsage } from './conversation.ts';
import type { OutputCheck } from './output.ts';
import { type HopelessRefusal, type ModelQuestion, type Provider, type TokenUsage, textAt } from './provider.ts';
import { withoutThinking } from './thinking.ts';

export interface AnswerParts {
  readonly provider: Provider;
  /** The key that the node uses, in words for messages. */
  readonly key: string;
  /** Checks the model's answer; undefined if the answer may be any text. */
  readonly check: OutputCheck | undefined;
  /** True if thinking at the beginning of an answer is part of the answer. */
  readonly keepsThinking: boolean;
  readonly price: TokenPrice | undefined;
  readonly model: string;
  readonly maxTokens: number;
  readonly maxTokensName: ModelQuestion['maxTokensName'];
}

/** Error codes and types that say that the account has no money left, so that waiting does not help. */
const moneyCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'billing_hard_limit_reached',
  'billing_not_active',
  'enforced_spend_limit_reached',
]);

/** Throws LimitReached if every other question would be refused, too, and a Failure if only this answer cannot be used. */
export function acceptAnswer(parts: AnswerParts, response: HttpResponse): ModelAccepted {
  const { provider, check } = parts;
  if (!hasStatus(['2xx'], response.status)) throw refusalOf(parts, response);
  const body = readBody(response, 'json', true) ?? null;
  const { text: said, toolCall, finish, model, usage } = provider.answer(body);
  const error = errorIn(body);
  if (error !== undefined) throw new UnusableAnswer(`the server says: ${excerpt(error)}`, '', statedUsage(usage));
  const text = said === undefined ? undefined : withoutThinking(said);
  const unfinished = unfinishedText(finish, said, text, parts.maxTokens);
  if (unfinished !== undefined) throw new UnusableAnswer(unfinished, '', usage);
  const call = text?.trim() ? undefined : toolCall;
  if (call && !check)
    throw new UnusableAnswer(`the model wants to call the tool "${excerpt(call.name, 100)}", and gave no answer`, '', usage);
  // Some gateways make the schema a tool, and send the answer as its arguments.
  const answer = call ? argumentsOf(call.arguments) : text;
  const whole = parts.keepsThinking ? (said ?? answer) : answer;
  if (whole === undefined) throw noAnswer(parts, said, body, usage);
  const document = { text: whole, output: checkedOutput(check, answer ?? whole, usage), model: model ?? parts.model, finish };
  return withUsage({ status: response.status, header: response.header, body: document, response, usage }, usage, parts.price);
}

/** Undefined if the model finished its answer. `text` is what it said without its thinking. */
function unfinishedText(finish: string, said: string | undefined, text: string | undefined, maxTokens: number): string | undefined {
  if (finish === 'refusal') return `the model refused to answer${quoted(text)}`;
  if (finish === 'broken') return `the server ended the answer early${quoted(said)}`;
  return finish === 'length' ? `the answer was cut off at max_tokens (${maxTokens})${quoted(said)}\n${allowMore}` : undefined;
}

function argumentsOf(given: Value): string {
  return typeof given === 'string' ? given : jsonOf(given);
}

function noAnswer({ check }: AnswerParts, said: string | undefined, body: Value, usage: TokenUsage): UnusableAnswer {
  if (said === undefined)
    return new UnusableAnswer(`expected an answer from a model, found ${excerpt(jsonOf(body))}`, '', statedUsage(usage));
  const reason = check && 'the answer does not fit the schema (there is nothing after its thinking)';
  return new UnusableAnswer(`${reason ?? 'the model gave no answer after its thinking'}: ${excerpt(said)}\n${keepIt}`, '', usage, reason);
}

const keepIt = 'thinking: keep takes the thinking for the answer';

/** Returns the number of tokens that the body of an error states; undefined if it states none. */
function statedUsage(usage: TokenUsage): TokenUsage | undefined {
  return usage.input + usage.output > 0 ? usage : undefined;
}

function checkedOutput(check: OutputCheck | undefined, text: string, usage: TokenUsage): Value {
  if (!check) return null;
  try {
    return check.read(text);
  } catch (error) {
    const reason = `the answer does not fit the schema (${(error as Error).message})`;
    throw new UnusableAnswer(text === '' ? reason : `${reason}, found ${excerpt(text)}`, text, usage, reason);
  }
}

const allowMore = 'raise max_tokens, which includes the tokens for thinking. With effort: low, the model thinks less';

/** Returns the beginning of an answer after a colon; empty if there is no answer. */
function quoted(text = ''): string {
  return text === '' ? '' : `: ${excerpt(text)}`;
}

/** Returns the error message in a body with a successful status; undefined if there is none. */
function errorIn(body: Value): string | undefined {
  const places = [['error', 'message'], ['error'], ['choices', 0, 'error', 'message']] as const;
  return places.map((steps) => textAt(body, ...steps)).find(Boolean);
}

function refusalOf(parts: AnswerParts, response: HttpResponse): Error {
  const { provider, key } = parts;
  const { status } = response;
  const read = readIfPossible(response, 'auto');
  // In responses of Google's Chat Completions, the error is inside a list.
  const body = Array.isArray(read) ? read[0] : read;
  const reason = textAt(body, 'error', 'message');
  const message = reason === undefined ? answerMessage(response) : `the server answered ${status}: ${excerpt(reason)}`;
  const hopelessness = hopelessnessOf(provider, status, body ?? null);
  if (hopelessness === 'refused-key') return new CredentialRefused(`the server refuses ${key}; ${message}`, true);
  if (hopelessness === 'day-quota') return new LimitReached(`the day's quota of the account is used up; ${message}`);
  if (hopelessness === 'no-money') return new LimitReached(`the account has no money left; ${message}`);
  const advice = provider.advice?.(status, body ?? null, parts);
  return new Failure('http', advice === undefined ? message : `${message}\n${advice}`, {
    status,
    retryable: true,
    retryAfterMs: waitOf(provider, response, body ?? null),
  });
}

/** The Retry-After header, or else the longest wait in the body and in other headers. */
function waitOf({ waitMs }: Provider, { header, retryAfterMs }: HttpResponse, body: Value): number | undefined {
  const isStated = ['retry-after', 'retry-after-ms'].some((name) => header(name) !== undefined);
  const inBody = waitMs?.(body);
  if (inBody === undefined || (isStated && retryAfterMs !== undefined)) return retryAfterMs;
  return Math.max(inBody, retryAfterMs ?? 0);
}

/** Undefined if other questions might be answered. The error code decides, because providers and gateways use different statuses. */
function hopelessnessOf(provider: Provider, status: number, body: Value): HopelessRefusal | undefined {
  const codes = ['code', 'type'].map((name) => textAt(body, 'error', name) ?? '');
  if (status === 402 || (status < 500 && codes.some((code) => moneyCodes.has(code)))) return 'no-money';
  return provider.hopelessness?.(status, body);
}

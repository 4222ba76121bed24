import { answerMessage, excerpt, readBody } from '../../core/answer/response.ts';
import { Failure, LimitReached } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { matches } from '../call-policy.ts';
import { readIfPossible } from '../http/answer-reader.ts';
import { type ModelAccepted, type TokenPrice, UnusableAnswer, withUsage } from './conversation.ts';
import type { OutputCheck } from './output.ts';
import { type Provider, textAt, type Usage } from './provider.ts';

/** The parts of a node that read answers. */
export interface AnswerParts {
  readonly provider: Provider;
  /** The check of the answer; undefined if the answer is a text. */
  readonly check: OutputCheck | undefined;
  readonly price: TokenPrice | undefined;
  readonly model: string;
  readonly maxTokens: number;
  readonly retryOn: readonly (string | number)[];
}

/** Codes and types of a 429 that no waiting ends: the account has no money. */
const moneyCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'billing_hard_limit_reached',
  'enforced_spend_limit_reached',
]);

/** Takes a response as an answer of a model. Throws a Failure, or LimitReached if the account has no money. */
export function acceptAnswer(parts: AnswerParts, response: HttpResponse): ModelAccepted {
  const { provider, check, maxTokens } = parts;
  if (!matches(['2xx'], response.status)) throw refusalOf(parts, response);
  const body = readBody(response, 'json', true) ?? null;
  const { text, finish, model, usage } = provider.answer(body);
  const error = errorIn(body);
  if (error !== undefined) throw new UnusableAnswer(`the server says: ${excerpt(error)}`, '', usage);
  if (finish === 'refusal') throw new UnusableAnswer(`the model refused to answer${quoted(text)}`, '', usage);
  if (finish === 'length') {
    const message = `the answer was cut off at max_tokens (${maxTokens})${quoted(text)}\nallow more with max_tokens`;
    throw new UnusableAnswer(message, '', usage);
  }
  if (text === undefined) throw new UnusableAnswer(`expected the answer of a model, found ${excerpt(jsonOf(body))}`, '', usage);
  const output = check ? checkedOutput(check, text, usage) : null;
  const document = { text, output, model: model ?? parts.model, finish };
  return withUsage({ status: response.status, header: response.header, body: document, response, usage }, usage, parts.price);
}

function checkedOutput(check: OutputCheck, text: string, usage: Usage): Value {
  try {
    return check.read(text);
  } catch (error) {
    const reason = `the answer does not fit the schema (${(error as Error).message})`;
    throw new UnusableAnswer(text === '' ? reason : `${reason}, found ${excerpt(text)}`, text, usage, reason);
  }
}

/** The beginning of an answer, after a colon. */
function quoted(text = ''): string {
  return text === '' ? '' : `: ${excerpt(text)}`;
}

/** The message of an error that came with a status of success; undefined if there is none. */
function errorIn(body: Value): string | undefined {
  const places = [['error', 'message'], ['error'], ['choices', 0, 'error', 'message']] as const;
  return places.map((steps) => textAt(body, ...steps)).find(Boolean);
}

function refusalOf({ provider, retryOn }: AnswerParts, response: HttpResponse): Error {
  const { status } = response;
  const body = readIfPossible(response, 'auto');
  const reason = textAt(body, 'error', 'message');
  const message = reason === undefined ? answerMessage(response) : `the server answered ${status}: ${excerpt(reason)}`;
  const codes = ['code', 'type'].map((name) => textAt(body, 'error', name) ?? '');
  if (status === 402 || (status === 429 && codes.some((code) => moneyCodes.has(code)))) {
    return new LimitReached(`the account has no money left; ${message}`);
  }
  const asked = [response.retryAfterMs, body === undefined ? undefined : provider.waitMs?.(body)];
  const waits = asked.filter((ms) => ms !== undefined);
  return new Failure('http', message, {
    status,
    retryable: matches(retryOn, status),
    retryAfterMs: waits.length > 0 ? Math.max(...waits) : undefined,
  });
}

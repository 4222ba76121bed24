import { answerMessage, excerpt, readBody } from '../../core/answer/response.ts';
import { Failure, LimitReached } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import { matches } from '../call-policy.ts';
import { readIfPossible } from '../http/answer-reader.ts';
import { type ModelAccepted, type TokenPrice, unusable, withUsage } from './conversation.ts';
import type { OutputCheck } from './output.ts';
import { type Provider, textAt, type Usage } from './provider.ts';

/** The parts of a node that read answers. */
export interface AnswerParts {
  readonly provider: Provider;
  /** Absent for a text. */
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
  const { text, finish, model, usage } = provider.answer(readBody(response, 'json', true) ?? null);
  if (finish === 'refusal') throw unusable('the model refused to answer', text, usage, false);
  if (finish === 'length') {
    throw unusable(`the answer was cut off at max_tokens: ${maxTokens}; allow more`, text, usage, false);
  }
  const output = check ? checkedOutput(check, text, usage) : null;
  const document = { text, output, model: model ?? parts.model, finish };
  return withUsage({ status: response.status, header: response.header, body: document, response, usage }, usage, parts.price);
}

function checkedOutput(check: OutputCheck, text: string, usage: Usage): Value {
  try {
    return check.read(text);
  } catch (error) {
    throw unusable(`the answer does not fit the schema (${(error as Error).message})`, text, usage, true);
  }
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
  const asked = [response.retryAfterMs, status === 429 && body !== undefined ? provider.waitMs?.(body) : undefined];
  const waits = asked.filter((ms) => ms !== undefined);
  return new Failure('http', message, {
    status,
    retryable: matches(retryOn, status),
    retryAfterMs: waits.length > 0 ? Math.max(...waits) : undefined,
  });
}

import { type listsOn, withLists } from '../../core/answer/document.ts';
import type { Answer, Mapping } from '../../core/answer/mapping.ts';
import type { Path } from '../../core/answer/path.ts';
import { statedWaitMs } from '../../core/answer/rate-limit.ts';
import { announcesJson, answerMessage, documentKind, type ResponseMode, readBody } from '../../core/answer/response.ts';
import { shownSignature } from '../../core/auth/auth.ts';
import { hasStatus } from '../../core/call.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { Failure } from '../../core/failure.ts';
import type { CallPolicy } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import { type AnswerRules, variablesOf } from '../answer-rules.ts';
import { answerModeOf, type HttpOptions } from './http-options.ts';

export interface HttpAnswer extends Answer {
  readonly response: HttpResponse;
}

interface ReadParts {
  readonly mapping: Mapping | undefined;
  /** True if an option other than the map reads values inside the body. */
  readonly needsJson: boolean;
  /** The positions of lists in the body. An XML list with one element looks like a single element, so it is turned into a list there. */
  readonly lists: ReturnType<typeof listsOn>;
  readonly cost: Path | undefined;
  readonly rules: AnswerRules | undefined;
}

export function answerReader(options: HttpOptions, parts: ReadParts): CallPolicy['accept'] {
  const { rules } = parts;
  return (received: HttpResponse, request: HttpRequest, record, clock): HttpAnswer => {
    const response = withStatedWait(options, received, clock);
    if (!hasStatus(options.success, response.status)) throw notSuccess(options, response, request, rules);
    const read = () => httpAnswer(response, response.saved ? undefined : readOrAdvise(options, parts, response, request));
    return rules ? ruledAnswer(rules, { read, readPartly: () => partOf(rules, options, response), record, clock }) : read();
  };
}

/** Replaces the wait of the headers with the wait that `retry.after` finds. If it finds none, that of the headers stays. */
function withStatedWait(options: HttpOptions, response: HttpResponse, clock: EvaluationClock): HttpResponse {
  const { after } = options.retry;
  if (!after) return response;
  try {
    const body = after.named.includes('body') ? readIfPossible(response, answerModeOf(options)) : undefined;
    const found = textOf(after.evaluate(variablesOf(after, httpAnswer(response, body), undefined), clock));
    const waitMs = statedWaitMs(found, response.header, clock.wallNow());
    return waitMs === undefined ? response : { ...response, retryAfterMs: waitMs };
  } catch (error) {
    if (error instanceof Failure) return response;
    throw error;
  }
}

function httpAnswer(response: HttpResponse, body: Value | undefined): HttpAnswer {
  return { status: response.status, header: response.header, body, response };
}

/**
 * Reads a body. If the flow lists a status outside 2xx, such as 404, its answer is often a page of the server, which has nothing for the
 * map. If the body is not JSON, and the request did not ask for JSON, the failure says how to get JSON, or how to read XML. */
function readOrAdvise(options: HttpOptions, parts: ReadParts, response: HttpResponse, request: HttpRequest): Value | undefined {
  try {
    return neededBody(options, parts, response);
  } catch (error) {
    const isListedError = response.status < 200 || response.status > 299;
    if (isListedError && error instanceof Failure && error.kind === 'parse') return undefined;
    if (error instanceof Failure && error.message.includes('(NDJSON?)'))
      throw error.withMessage(`${error.message}\nif it is NDJSON, write: answer: ndjson`);
    const isOther = error instanceof Failure && error.kind === 'parse' && error.code === 'not-json' && !announcesJson(response, 'auto');
    if (isOther && looksLikeXml(response)) throw error.withMessage(`${error.message}\nif it is XML, write: answer: xml`);
    if (!isOther || asksForJson(request)) throw error;
    throw error.withMessage(`${error.message}
ask for JSON: headers: { Accept: application/json }`);
  }
}

function looksLikeXml({ body, header }: HttpResponse): boolean {
  const isPage = /html/i.test(header('content-type') ?? '');
  return !isPage && /^(?:\xef\xbb\xbf)?\s*<(?!!doctype html|html)[?!\w]/i.test(new TextDecoder('latin1').decode(body.subarray(0, 100)));
}

function asksForJson({ headers }: HttpRequest): boolean {
  const accept = Object.entries(headers).find(([name]) => name.toLowerCase() === 'accept')?.[1] ?? '';
  return /^\s*application\/(?:[\w.-]+\+)?json\b/i.test(accept);
}

/** For rules on a body that the node cannot read. It is read as far as possible, and can be undefined. */
function partOf(rules: AnswerRules, options: HttpOptions, response: HttpResponse): HttpAnswer {
  return httpAnswer(response, rules.names('body') ? readIfPossible(response, answerModeOf(options)) : undefined);
}

interface RuledReading {
  read(): HttpAnswer;
  readPartly(): HttpAnswer;
  readonly record: Fields | undefined;
  readonly clock: EvaluationClock;
}

/** Even an unreadable response, such as "pending" instead of JSON, can be a reason to retry. Otherwise, it causes a Failure. */
function ruledAnswer(rules: AnswerRules, { read, readPartly, record, clock }: RuledReading): HttpAnswer {
  let answer: HttpAnswer;
  try {
    answer = read();
  } catch (error) {
    rules.checkRetry(readPartly(), record, clock);
    throw error;
  }
  rules.check(answer, record, clock);
  return answer;
}

function notSuccess(options: HttpOptions, response: HttpResponse, request: HttpRequest, rules: AnswerRules | undefined): Failure {
  const { status, retryAfterMs } = response;
  const isUnsigned = (status === 401 || status === 403) && request.hostFromData !== undefined && request.auth === undefined;
  const asked = !isUnsigned && status === 401 ? challengeText(response.header('www-authenticate'), authorizationOf(request)) : undefined;
  const reason = isUnsigned
    ? ' (no credential was sent, because this origin is not written literally in the flow)'
    : asked
      ? `\n${asked}`
      : refusalOfProxy(response);
  const message = rules?.messageIn(httpAnswer(response, readIfPossible(response, answerModeOf(options)))) ?? answerMessage(response);
  return new Failure('http', message + reason, { status, retryable: true, retryAfterMs });
}

/** The types of `auth`, by the schemes that servers name (RFC 7617, RFC 6750, RFC 7616, AWS Signature Version 4). */
const typeOfScheme: Readonly<Record<string, string>> = {
  basic: 'basic',
  bearer: 'bearer',
  digest: 'digest',
  'aws4-hmac-sha256': 'aws_sigv4',
};

/**
 * Returns what a 401 asks for, if the request was signed in another way or not at all; undefined if there is nothing to say. `asked` is the
 * header WWW-Authenticate, and `sent` the request's header Authorization.
 */
function challengeText(asked: string | undefined, sent: string | undefined): string | undefined {
  const schemes = schemesIn(asked ?? '');
  const sentScheme = sent?.trim().split(/\s/)[0]?.toLowerCase();
  if (schemes.length === 0 || schemes.some((scheme) => scheme.toLowerCase() === sentScheme)) return undefined;
  const known = schemes.map((scheme) => typeOfScheme[scheme.toLowerCase()]).find((type) => type !== undefined);
  const names = schemes.join(' or ');
  if (known === undefined) return `the server asks for ${names} authentication, which automate does not have`;
  return `the server asks for ${names} authentication; write auth: { type: ${known}, credential: NAME }`;
}

/** A challenge is a scheme, which parameters can follow (RFC 9110, 11.6.1). Both are separated by commas. */
function schemesIn(header: string): string[] {
  const unquoted = header.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const found = unquoted.matchAll(/(?:^|,)\s*([A-Za-z][\w!#$%&'*+.^`|~-]*)(?=\s*(?:,|$)|\s+[^\s=,])/g);
  return [...new Set([...found].map(([, scheme]) => scheme as string))].slice(0, 4);
}

/** The statuses with which proxies refuse requests, or say that they could not reach a server. */
function refusalOfProxy({ status, proxy }: HttpResponse): string {
  if (proxy === undefined || ![403, 502, 503, 504].includes(status)) return '';
  return `\nthe request went through the proxy ${proxy}, which might have answered in place of the server`;
}

/** Secrets are shown as `***`. Undefined without this header. */
function authorizationOf({ auth, headers }: HttpRequest): string | undefined {
  const all = { ...headers, ...(auth && shownSignature(auth).headers) };
  const name = Object.keys(all).find((one) => one.toLowerCase() === 'authorization');
  return name === undefined ? undefined : all[name];
}

/**
 * This is part of the attempt, so that a cut-off body is requested again. An invalid body that no option uses does not fail the record. If
 * there is a map, a body that is announced as JSON must be JSON.
 */
function neededBody(options: HttpOptions, parts: ReadParts, response: HttpResponse): Value | undefined {
  const { mapping, needsJson, cost, rules } = parts;
  const mode = answerModeOf(options);
  const isRead = rules?.names('body') || (mapping && (mapping.readsBody || announcesJson(response, mode)));
  if (isRead || needsJson || mapping?.needsJson || !['auto', 'text'].includes(mode)) {
    const body = readBody(response, mode, needsJson || (mapping?.needsJson ?? false));
    const isXml = response.document !== undefined && documentKind(response, mode) === 'xml';
    return isXml && body !== undefined ? withLists(body, parts.lists) : body;
  }
  return cost?.root === 'body' || rules?.readsMessage ? readIfPossible(response, answerModeOf(options)) : undefined;
}

/** For the cost or the error message; undefined if the body cannot be read, so that the record does not fail. */
export function readIfPossible(response: HttpResponse, mode: ResponseMode): Value | undefined {
  try {
    return readBody(response, mode, false);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

import { type listsOn, withLists } from '../../core/answer/document.ts';
import type { Answer, Mapping } from '../../core/answer/mapping.ts';
import type { Path } from '../../core/answer/path.ts';
import { announcesJson, answerMessage, documentKind, type ResponseMode, readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { CallPolicy } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';
import type { AnswerRules } from '../answer-rules.ts';
import { matches } from '../call-policy.ts';
import { answerModeOf, type HttpOptions } from './http-options.ts';

/** An accepted answer to an HTTP request. */
export interface HttpAnswer extends Answer {
  readonly response: HttpResponse;
}

/** The parts of an answer that a node reads. */
export interface ReadParts {
  readonly mapping: Mapping | undefined;
  /** True if something besides the map looks into the body. */
  readonly needsJson: boolean;
  /** The places that are lists in XML, even for an element that stands alone. */
  readonly lists: ReturnType<typeof listsOn>;
  readonly cost: Path | undefined;
  readonly rules: AnswerRules | undefined;
}

/** Makes `accept` of a node that sends HTTP requests. */
export function answerReader(options: HttpOptions, parts: ReadParts): CallPolicy['accept'] {
  const { rules } = parts;
  return (response: HttpResponse, request?: HttpRequest, record?: Fields): HttpAnswer => {
    if (!matches(options.success, response.status)) throw notSuccess(options, response, request, rules);
    const read = () => httpAnswer(response, response.saved ? undefined : readOrAdvise(options, parts, response, request));
    return rules ? ruledAnswer(rules, { read, readPartly: () => partOf(rules, options, response), record }) : read();
  };
}

function httpAnswer(response: HttpResponse, body: Value | undefined): HttpAnswer {
  return { status: response.status, header: response.header, body, response };
}

/** Reads a body. If it is no JSON, and its request has not asked for JSON, the failure says how to get JSON, or how to read XML. */
function readOrAdvise(options: HttpOptions, parts: ReadParts, response: HttpResponse, request: HttpRequest | undefined): Value | undefined {
  try {
    return neededBody(options, parts, response);
  } catch (error) {
    const isOther = error instanceof Failure && error.kind === 'parse' && error.code === 'not-json' && !announcesJson(response, 'auto');
    if (isOther && looksLikeXml(response)) throw error.withMessage(`${error.message}\nif it is XML, say so: answer: xml`);
    if (!isOther || !request || asksForJson(request)) throw error;
    throw error.withMessage(`${error.message}
ask for JSON: headers: { Accept: application/json }`);
  }
}

function looksLikeXml({ body, header }: HttpResponse): boolean {
  const isPage = /html/i.test(header('content-type') ?? '');
  return !isPage && /^(?:\xef\xbb\xbf)?\s*<(?!!doctype html|html)[?!\w]/i.test(new TextDecoder('latin1').decode(body.subarray(0, 100)));
}

/** True if a request asks for JSON first. */
function asksForJson({ headers }: HttpRequest): boolean {
  const accept = Object.entries(headers).find(([name]) => name.toLowerCase() === 'accept')?.[1] ?? '';
  return /^\s*application\/(?:[\w.-]+\+)?json\b/i.test(accept);
}

/** The answer as the rules see it if its body cannot be read as the node needs it. */
function partOf(rules: AnswerRules, options: HttpOptions, response: HttpResponse): HttpAnswer {
  return httpAnswer(response, rules.names('body') ? readIfPossible(response, answerModeOf(options)) : undefined);
}

interface RuledReading {
  read(): HttpAnswer;
  readPartly(): HttpAnswer;
  readonly record: Fields | undefined;
}

/** Reads an answer that passes the rules. The text "pending" instead of JSON can be a reason to retry. Throws a Failure. */
function ruledAnswer(rules: AnswerRules, { read, readPartly, record }: RuledReading): HttpAnswer {
  let answer: HttpAnswer;
  try {
    answer = read();
  } catch (error) {
    rules.checkRetry(readPartly(), record);
    throw error;
  }
  rules.checkRetry(answer, record);
  rules.checkFailure(answer, record);
  return answer;
}

function notSuccess(
  options: HttpOptions,
  response: HttpResponse,
  request: HttpRequest | undefined,
  rules: AnswerRules | undefined,
): Failure {
  const { status, retryAfterMs } = response;
  const isUnsigned = (status === 401 || status === 403) && request?.hostFromData !== undefined && request.auth === undefined;
  const reason = isUnsigned ? ' (no credential was sent: the flow does not name this origin literally)' : '';
  const message = rules?.messageIn(httpAnswer(response, readIfPossible(response, answerModeOf(options)))) ?? answerMessage(response);
  return new Failure('http', message + reason, { status, retryable: matches(options.retry.on, status), retryAfterMs });
}

/**
 * Read within the attempt, so that a body that was cut off is requested again. A body that is not read cannot fail a record: a
 * webhook's answer, or an image of which the map takes the status. JSON that was announced to a map has to be JSON.
 */
function neededBody(options: HttpOptions, parts: ReadParts, response: HttpResponse): Value | undefined {
  const { mapping, needsJson, cost, rules } = parts;
  const mode = answerModeOf(options);
  const isRead = rules?.names('body') || (mapping && (mapping.readsBody || announcesJson(response, mode)));
  if (isRead || needsJson || mapping?.needsJson || !['auto', 'text'].includes(mode)) {
    const body = readBody(response, mode, needsJson || (mapping?.needsJson ?? false));
    const isXml = response.parse !== undefined && documentKind(response, mode) === 'xml';
    return isXml && body !== undefined ? withLists(body, parts.lists) : body;
  }
  return cost?.root === 'body' || rules?.readsMessage ? readIfPossible(response, answerModeOf(options)) : undefined;
}

/** Reads a body for its cost or its message alone, which cannot fail a record; undefined if that is impossible. */
export function readIfPossible(response: HttpResponse, mode: ResponseMode): Value | undefined {
  try {
    return readBody(response, mode, false);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

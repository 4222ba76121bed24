import type { CallPolicy } from '../../core/action.ts';
import type { Answer, Mapping } from '../../core/answer/mapping.ts';
import type { Path } from '../../core/answer/path.ts';
import { announcesJson, answerMessage, type ResponseMode, readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import { matches } from '../call-policy.ts';
import type { HttpOptions } from './http-options.ts';

/** An accepted answer to an HTTP request. */
export interface HttpAnswer extends Answer {
  readonly response: HttpResponse;
}

/** The parts of an answer that a node reads. */
export interface ReadParts {
  readonly mapping: Mapping | undefined;
  /** True if something besides the map looks into the body. */
  readonly needsJson: boolean;
  readonly cost: Path | undefined;
}

/** Makes `accept` of a node that sends HTTP requests. */
export function answerReader(options: HttpOptions, parts: ReadParts): CallPolicy['accept'] {
  return (response: HttpResponse, request?: HttpRequest): HttpAnswer => {
    if (!matches(options.success, response.status)) throw notSuccess(options, response, request);
    return { status: response.status, header: response.header, body: neededBody(options, parts, response), response };
  };
}

function notSuccess(options: HttpOptions, response: HttpResponse, request: HttpRequest | undefined): Failure {
  const { status, retryAfterMs } = response;
  const isUnsigned = (status === 401 || status === 403) && request?.hostFromData !== undefined && request.auth === undefined;
  const reason = isUnsigned ? ' (no credential was sent: the flow does not name this origin literally)' : '';
  return new Failure('http', answerMessage(response) + reason, { status, retryable: matches(options.retry.on, status), retryAfterMs });
}

/**
 * Read within the attempt, so that a body that was cut off is requested again. A body that is not read cannot fail a record: a
 * webhook's answer, or an image of which the map takes the status. JSON that was announced to a map has to be JSON.
 */
function neededBody(options: HttpOptions, { mapping, needsJson, cost }: ReadParts, response: HttpResponse): Value | undefined {
  const isRead = mapping && (mapping.readsBody || announcesJson(response, options.response));
  if (isRead || needsJson || mapping?.needsJson || options.response === 'json') {
    return readBody(response, options.response, needsJson || (mapping?.needsJson ?? false));
  }
  return cost?.root === 'body' ? readIfPossible(response, options.response) : undefined;
}

/** Reads a body for its cost alone, which cannot fail a record; absent if that is impossible. */
export function readIfPossible(response: HttpResponse, mode: ResponseMode): Value | undefined {
  try {
    return readBody(response, mode, false);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

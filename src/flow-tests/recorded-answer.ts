import { textStart } from '../core/answer/charset.ts';
import { AutomateError, Failure } from '../core/failure.ts';
import type { HttpResponse } from '../core/ports.ts';
import type { ToolAnswer, ToolCall } from '../core/tools.ts';
import { parseJson } from '../core/value/json.ts';
import { ExactNumber, isMapping, orUndefined, type Value } from '../core/value/value.ts';
import type { AskedRequest } from './given-answers.ts';
import type { Result } from './recorder.ts';
import type { Fault, TestAnswer } from './test-schema.ts';

/** Response headers that affect what automate does next. Other headers are written to the test only if the flow refers to them. */
const ownHeaders = ['link', 'location', 'retry-after'];

/**
 * Turns the result of a request into an answer that can be written in a test. `flow` is the text of the flow file. Throws an AutomateError
 * (`usage`) for a failure that a test cannot express.
 */
export function recordedAnswer(result: Result, { unsigned }: AskedRequest, flow: string): Omit<TestAnswer, 'request'> {
  if (result instanceof Failure) return { ...argumentsOf(unsigned), fault: faultOf(result) };
  return 'kind' in result ? { ...argumentsOf(unsigned), ...toolParts(result) } : httpParts(result, flow);
}

function argumentsOf(request: AskedRequest['unsigned']): Pick<TestAnswer, 'arguments'> {
  return 'kind' in request ? { arguments: { ...(request as ToolCall).arguments } } : {};
}

function toolParts({ isError, body, text }: ToolAnswer): Omit<TestAnswer, 'request'> {
  return isError ? { error: text } : { body };
}

function httpParts(response: HttpResponse, flow: string): Omit<TestAnswer, 'request'> {
  const { status } = response;
  const text = textStart(response, response.body.length);
  const type = response.header('content-type') ?? '';
  const json = /\bjson\b/i.test(type) || type === '' ? orUndefined(() => parseJson(text)) : undefined;
  const isWritable = json !== undefined && typeof json !== 'string' && !holdsDecimals(json);
  const wanted = Object.keys(response.headers).filter(
    (name) => ownHeaders.includes(name) || flow.toLowerCase().includes(`$headers.${name}`),
  );
  const names = isWritable || type === '' || text === '' ? wanted : [...new Set(['content-type', ...wanted])];
  const headers = Object.fromEntries(names.map((name) => [name, response.header(name) ?? '']));
  return {
    ...(status !== 200 && { status }),
    ...(names.length > 0 && { headers }),
    ...(text !== '' && { body: isWritable ? json : text }),
  };
}

/** True if the value contains a number with a fraction or an exponent, whose digits YAML might change. */
function holdsDecimals(value: Value): boolean {
  if (value instanceof ExactNumber) return !/^-?\d+$/.test(value.text);
  if (Array.isArray(value)) return value.some(holdsDecimals);
  return isMapping(value) && Object.values(value as Record<string, Value>).some(holdsDecimals);
}

function faultOf({ kind, code, sent, message }: Failure): Fault {
  if (kind === 'timeout') return 'timeout';
  if (code === 'unknown-host') return 'unknown_host';
  // Failures with a code (of TLS or a proxy) cannot be written in a test: they are retried differently from a refused connection.
  if (kind === 'network' && code === undefined) return sent ? 'reset' : 'refused';
  throw new AutomateError('usage', `a request that fails in this way cannot become a test: ${message}`);
}

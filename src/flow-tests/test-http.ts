import type { Documents } from '../core/answer/document.ts';
import { retryAfterMs } from '../core/answer/rate-limit.ts';
import { type Auth, signature, signedFrom } from '../core/auth/auth.ts';
import { combined } from '../core/auth/auth-type.ts';
import { isSession, sessionSignature } from '../core/auth/session.ts';
import { durationText } from '../core/duration.ts';
import { Failure } from '../core/failure.ts';
import type { Clock, Http, HttpRequest, HttpResponse } from '../core/ports.ts';
import { withQuery } from '../core/template/url.ts';
import type { FormPart } from '../core/transfer.ts';
import { type JsonObject, jsonOf, type Value } from '../core/value/value.ts';
import { version } from '../core/version.ts';
import type { Secret } from '../credentials/secret.ts';
import type { SessionTools } from '../http/auth/sessions.ts';
import { hasToken } from '../http/auth/token-sources.ts';
import { createHttp } from '../http/client.ts';
import { failureOf } from '../http/error.ts';
import type { WireRequest } from '../http/exchange.ts';
import { isListed, refuseHost } from '../http/guard.ts';
import { headerReader } from '../http/header.ts';
import { RunFiles } from '../http/transfers/run-files.ts';
import type { Transport } from '../http/transport.ts';
import { type AnswerSource, requestName } from './given-answers.ts';
import type { Fault, TestAnswer } from './test-schema.ts';

const noAnswer = 'the test has no answer left for this request';

export function unanswered(): Failure {
  return new Failure('request', noAnswer, { sent: false });
}

/** True even if the failure is reported by a loop. */
export function isUnanswered({ message }: Failure): boolean {
  return message.includes(noAnswer);
}

/** Returns the string that tests use in place of a credential's secret. */
function testSecret(credential: string): string {
  return `test-${credential}`;
}

export interface TestHttpParts {
  readonly answers: AnswerSource;
  readonly clock: Clock;
  readonly credentials: readonly string[];
  readonly allowHttp: boolean;
  readonly documents?: Documents;
}

/** Makes an HTTP port that takes its answers from a test instead of the network. It signs requests and follows redirects as in a run. */
export function createTestHttp(parts: TestHttpParts): Http {
  const { clock, allowHttp, credentials, documents } = parts;
  const secrets = new Map<string, Secret>(credentials.map((name) => [name, { text: testSecret(name), from: 'the test' }]));
  const nothing = () => undefined;
  const tools = {
    secrets,
    allowHttp,
    now: clock.now,
    wallNow: clock.wallNow,
    files: new RunFiles({ folder: undefined }),
    used: nothing,
    secret: nothing,
  };
  return {
    abort: nothing,
    async send(request) {
      const send = (isAgain: boolean) =>
        createHttp({ ...tools, transport: transportFor(request, parts, isAgain) }).send(withoutFiles(withTestSignature(request)));
      const response = await send(false);
      const isRepeated = await asksForLogin(request, response, { ...tools, documents });
      return withSavedBody(request, isRepeated ? await send(true).catch((error) => lastAnswer(error, response)) : response);
    },
  };
}

/** A saved test has only the last answer to a request, which then counts for both. */
function lastAnswer(error: unknown, response: HttpResponse): HttpResponse {
  if (error instanceof Failure && isUnanswered(error)) return response;
  throw error;
}

/** A run then logs in again, or gets a new access token, and repeats the request once. */
async function asksForLogin(
  { auth = [] }: HttpRequest,
  response: HttpResponse,
  tools: Pick<SessionTools, 'allowHttp' | 'documents' | 'wallNow'>,
): Promise<boolean> {
  const session = auth.find(isSession);
  if (!session) return response.status === 401 && auth.some(hasToken);
  const { hasEnded, planOf } = await import('../http/auth/sessions.ts');
  return hasEnded(session, planOf(session, tools), response, tools);
}

/** Replaces what would need a key or a server: an access token, a value of a session, or a signature over the request is then `test-NAME`. */
function withTestSignature(request: HttpRequest): HttpRequest {
  const { auth = [], headers, path, secretBody } = request;
  const computed = auth.filter((one) => signedFrom(one) !== undefined);
  if (computed.length === 0) return request;
  const sign = combined(
    computed.map((one) => (isSession(one) ? sessionSignature(one, testSecret) : signature(one, testSecret(one.credential)))),
  );
  return {
    ...request,
    headers: { ...headers, ...sign.headers },
    path: withQuery(path, sign.query),
    secretBody: secretBody && { ...secretBody, render: () => secretBody.render(testSecret) },
    auth: auth.filter((one: Auth) => signedFrom(one) === undefined),
  };
}

/** If a form sends files, the copy contains their paths instead. */
function withoutFiles(request: HttpRequest): HttpRequest {
  const { form, secretBody } = request;
  if (!form) return { ...request, save: undefined };
  const parts = (secretBody?.render(testSecret) ?? form) as readonly FormPart[];
  const body = Object.fromEntries(parts.map((part) => [part.name, 'file' in part ? part.file : part.value]));
  return { ...request, form: undefined, secretBody: undefined, save: undefined, body: jsonOf(body) };
}

/** Returns the response as it would look after its body was saved to a file, but writes no file. */
function withSavedBody({ save }: HttpRequest, response: HttpResponse): HttpResponse {
  if (!save?.takes(response)) return response;
  return { ...response, body: new Uint8Array(), saved: { path: save.to, bytes: response.body.length } };
}

function transportFor(unsigned: HttpRequest, { answers, clock }: TestHttpParts, isAgain: boolean): Transport {
  const { testName } = unsigned;
  const fetch = () => Promise.reject(new Failure('network', 'a test sends nothing', { sent: false }));
  return {
    fetch,
    fetchToEnd: fetch,
    abort: () => undefined,
    async send(request) {
      refuseAddressOf(request);
      const url = `${request.method} ${request.origin}${request.path}`;
      const names = [...(testName === undefined ? [] : [testName]), requestName(url)];
      const headers = wireHeadersOf(request);
      const answer = answers.takeAnswer({ names, headers, body: request.body as string | undefined, unsigned, isAgain });
      if (!answer) throw unanswered();
      if (answer.fault === undefined) return toResponse(answer, clock);
      if (answer.fault === 'timeout') await clock.sleepUntil(request.deadlineMs);
      throw faultFailure(answer.fault, request);
    },
  };
}

/** Throws, as a run does, if a URL from the record leads to an IP address inside the local network. Host names are not resolved. */
function refuseAddressOf({ origin, allowHosts }: WireRequest): void {
  if (allowHosts === undefined) return;
  try {
    refuseHost(origin, isListed(origin, allowHosts));
  } catch (error) {
    throw failureOf(error, { origin, wasSent: false });
  }
}

/** Returns the headers as they are sent, keyed by lower-case name. */
function wireHeadersOf({ headers }: WireRequest): Record<string, string> {
  const written = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { accept: '*/*', 'user-agent': `automate/${version}`, ...Object.fromEntries(written) };
}

const faultCodes = { refused: 'ECONNREFUSED', reset: 'ECONNRESET', unknown_host: 'ENOTFOUND' };

export function faultFailure(fault: Fault, { timeoutMs, origin }: Pick<WireRequest, 'timeoutMs' | 'origin'>): Failure {
  if (fault === 'timeout') return new Failure('timeout', `no response within ${durationText(timeoutMs)}`, { retryable: true });
  return failureOf(Object.assign(new Error(fault), { code: faultCodes[fault] }), { origin, wasSent: fault === 'reset' });
}

function toResponse(answer: TestAnswer, clock: Clock): HttpResponse {
  const { status = 200, headers: given = {}, text, output } = answer;
  const isModel = text !== undefined || output !== undefined;
  const body = isModel ? modelBody(text ?? jsonOf(output as Value)) : (answer.body as Value | undefined);
  const isText = body === undefined || typeof body === 'string';
  const headers = {
    ...(!isText && { 'content-type': 'application/json' }),
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value])),
  };
  const header = headerReader(headers);
  return {
    status,
    headers,
    header,
    body: Buffer.from(isText ? markedText(body ?? '') : jsonOf(body)),
    endedByClose: false,
    retryAfterMs: retryAfterMs(status, header, clock.wallNow()),
    atMs: clock.now(),
  };
}

/** Returns text with a byte order mark if its charset matters: a test file is in UTF-8, whatever charset the answer or the flow states. */
function markedText(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : `\ufeff${text}`;
}

/** The token counts of every LLM answer in a test. */
const tokens = { input: 100, output: 10 };

/** Combines the formats of all providers, so every node finds the part that it reads. */
function modelBody(text: string): JsonObject {
  const { input, output } = tokens;
  return {
    // Read by nodes that use Anthropic.
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    // Read by nodes that use Chat Completions.
    choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    // Read by nodes that use OpenAI Responses.
    output: [{ type: 'message', content: [{ type: 'output_text', text }] }],
    status: 'completed',
    usage: { input_tokens: input, output_tokens: output, prompt_tokens: input, completion_tokens: output },
    // Read by nodes that use Gemini.
    candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: input, candidatesTokenCount: output },
    // Read by nodes that use Ollama.
    message: { role: 'assistant', content: text },
    done_reason: 'stop',
    prompt_eval_count: input,
    eval_count: output,
  };
}

import type { Event } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import type { Cache, Clock, HttpResponse, Ledger, Ports } from '../core/ports.ts';
import type { ToolCall, Tools } from '../core/tools.ts';
import { jsonOf, type Value } from '../core/value/value.ts';
import { RunSpending } from '../credits/spending.ts';
import { createDocuments } from '../http/documents/documents.ts';
import { toAnswer } from '../mcp/session.ts';
import { createLateLookups } from '../places/late-lookups.ts';
import { createUuids } from '../run/uuids.ts';
import type { AnswerSource } from './given-answers.ts';
import { createTestHttp, faultFailure, type TestHttpParts, unanswered } from './test-http.ts';
import type { TestAnswer } from './test-schema.ts';

/** Nothing is sent, stored or paid. Only the data embedded in automate is real. */
export function createTestPorts(parts: TestHttpParts, report: (event: Event) => void): Ports {
  const documents = createDocuments(parts.clock);
  return {
    clock: parts.clock,
    http: createTestHttp({ ...parts, documents }),
    tools: createTestTools(parts.answers, parts.clock),
    lookups: createLateLookups(),
    ledger: freeLedger,
    cache: memoryCache(parts.clock),
    documents,
    spending: new RunSpending(undefined),
    report,
    uuidOf: createUuids('test'),
    // Makes every wait last its full length, so that tests are repeatable. In a run, random jitter shortens a wait by up to half.
    random: () => 1,
  };
}

export const freeLedger: Ledger = {
  hold: () => undefined,
  settle: () => undefined,
  release: () => undefined,
  usedUp: () => undefined,
  affords: () => true,
};

function memoryCache(clock: Clock): Cache {
  const found = new Map<string, { readonly response: Promise<HttpResponse>; cachedMs: number | undefined }>();
  return {
    through(key, maxAgeMs, produce, hit) {
      const known = found.get(key);
      if (known && (known.cachedMs === undefined || clock.now() < known.cachedMs + maxAgeMs)) {
        hit(known.cachedMs === undefined ? 'in-flight' : 'cached');
        return known.response;
      }
      const entry = { response: produce(), cachedMs: undefined as number | undefined };
      found.set(key, entry);
      entry.response.then(
        () => {
          entry.cachedMs = clock.now();
        },
        () => found.delete(key),
      );
      return entry.response;
    },
  };
}

/** A request for a server's list of tools fails, because no server is started. */
function createTestTools(answers: AnswerSource, clock: Clock): Tools {
  return {
    abort: () => undefined,
    server: () =>
      Promise.reject(new Failure('network', 'a test cannot use the tools of an MCP server that it would have to start', { sent: false })),
    async call(call) {
      const { connection, timeoutMs } = call;
      const answer = answers.takeAnswer({ names: [toolName(call)], headers: {}, arguments: call.arguments, unsigned: call });
      if (!answer) throw unanswered();
      if (answer.fault === undefined) return toAnswer(toolResult(answer));
      if (answer.fault === 'timeout') await clock.sleepUntil(clock.now() + timeoutMs);
      throw faultFailure(answer.fault, { timeoutMs, origin: connection.name });
    },
  };
}

function toolName({ connection, tool }: Pick<ToolCall, 'connection' | 'tool'>): string {
  return `mcp ${connection.name}/${tool}`;
}

function toolResult({ body, text, error }: TestAnswer): Parameters<typeof toAnswer>[0] {
  const shown = error ?? text ?? (body === undefined ? '' : jsonOf(body as Value));
  return {
    content: [{ type: 'text', text: shown }],
    isError: error !== undefined,
    structuredContent: body,
  } as Parameters<typeof toAnswer>[0];
}

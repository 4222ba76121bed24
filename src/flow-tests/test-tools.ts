import { Failure } from '../core/failure.ts';
import type { Clock } from '../core/ports.ts';
import type { ToolCall, Tools } from '../core/tools.ts';
import { jsonOf, type Value } from '../core/value/value.ts';
import { toAnswer } from '../mcp/answer.ts';
import type { AnswerSource } from './given-answers.ts';
import { faultFailure, unanswered } from './test-http.ts';
import type { TestAnswer } from './test-schema.ts';

/**
 * Makes the port for MCP tools, whose answers come from a test. A request for a server's list of tools fails, because no server is started.
 */
export function createTestTools(answers: AnswerSource, clock: Clock): Tools {
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

/** Returns the string with which a test names a tool call. */
export function toolName({ connection, tool }: Pick<ToolCall, 'connection' | 'tool'>): string {
  return `mcp ${connection.name}/${tool}`;
}

function toolResult({ body, text, error }: TestAnswer): Parameters<typeof toAnswer>[0] {
  const shown = error ?? text ?? (body === undefined ? '' : jsonOf(body as Value));
  return {
    content: [{ type: 'text', text: shown }],
    isError: error !== undefined,
    ...(body !== undefined && { structuredContent: body }),
  } as Parameters<typeof toAnswer>[0];
}

import type { ActionRequest, ActionResponse, Attempt, Trace } from '../core/action.ts';
import { Failure } from '../core/failure.ts';
import type { Clock, Http, Ports } from '../core/ports.ts';
import type { Tools } from '../core/tools.ts';

/** The record and the node for which an attempt is made. */
type Sender = Pick<Attempt, 'record' | 'node'>;

interface Watch {
  readonly sender: Sender;
  readonly trace: Trace;
  readonly clock: Clock;
}

/** Wraps the HTTP client so that every attempt is reported to `trace`. */
export function tracedHttp(ports: Ports, sender: Sender, trace: Trace): Http {
  const { http, clock } = ports;
  const watch = { sender, trace, clock };
  return {
    send: (request) => startAttempt(watch, request)(http.send(request)),
    abort: () => http.abort(),
  };
}

/** Wraps the MCP tools so that every attempt is reported to `trace`. */
export function tracedTools(ports: Ports, sender: Sender, trace: Trace): Tools {
  const { tools, clock } = ports;
  const watch = { sender, trace, clock };
  return { ...tools, call: (call, progressed) => startAttempt(watch, call)(tools.call(call, progressed)) };
}

/** Starts to time an attempt. Returns a function that waits for the response and reports the attempt. */
function startAttempt({ sender: { record, node }, trace, clock }: Watch, request: ActionRequest) {
  const startedMs = clock.now();
  const end = (result: Attempt['result']) => trace({ record, node, request, ms: clock.now() - startedMs, result });
  return async <Answer extends ActionResponse>(coming: Promise<Answer>): Promise<Answer> => {
    try {
      const answer = await coming;
      end(attemptResult(answer));
      return answer;
    } catch (error) {
      if (error instanceof Failure) end(error);
      throw error;
    }
  };
}

function attemptResult(answer: ActionResponse): Attempt['result'] {
  if ('status' in answer) return answer.status;
  return 'isError' in answer && answer.isError ? 'error' : 'ok';
}

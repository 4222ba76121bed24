import { pauseText } from '../../../app/progress/pauses.ts';
import type { Attempt } from '../../../core/action.ts';
import { durationText } from '../../../core/duration.ts';
import type { Event } from '../../../core/event.ts';
import { requestText } from '../request.ts';

/** An attempt on one line: `record 17  profile  GET https://api.example.com/users/17  200  34 ms`. */
export function attemptText({ record, node, request, ms, result }: Attempt): string {
  const isTool = 'kind' in request && request.kind === 'tool';
  const [line = ''] = isTool ? [`tool ${request.tool}`] : requestText(request);
  return [`record ${record}`, node, line, resultText(result), durationText(Math.round(ms))].join('  ');
}

function resultText(result: Attempt['result']): string {
  return typeof result === 'object' ? `${result.kind}: ${result.message}` : String(result);
}

/** The line of an event that belongs among the attempts; absent for most. */
export function eventText(event: Event): string | undefined {
  if (event.type === 'cache-hit') return `record ${event.record}  ${event.node}  from the cache`;
  if (event.type === 'gate-paused') return pauseText(event);
  return undefined;
}

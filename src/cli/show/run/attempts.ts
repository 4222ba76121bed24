import { pauseText } from '../../../app/progress/pauses.ts';
import type { Attempt } from '../../../core/action.ts';
import { durationText } from '../../../core/duration.ts';
import type { ConcurrencyEvent, Event } from '../../../core/event.ts';
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
  if (event.type === 'concurrency') return concurrencyText(event);
  return undefined;
}

/** The reason of a change in words. */
const reasons: Readonly<Record<ConcurrencyEvent['reason'], string>> = {
  start: 'at first',
  fast: 'answers stay as fast',
  slow: 'answers have become slower',
  'no-effect': 'fewer requests were not answered faster',
  refused: 'the server refused a request',
};

/** The line of a change of the number of requests in flight: `concurrency of http-1: 4 to 8, answers stay as fast`. */
function concurrencyText({ gate, from, to, reason, worker }: ConcurrencyEvent): string {
  const name = worker === undefined ? gate : `${gate} in worker ${worker}`;
  return `concurrency of ${name}: ${from === undefined ? '' : `${from} to `}${to}, ${reasons[reason]}`;
}

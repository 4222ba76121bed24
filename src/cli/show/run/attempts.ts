import type { Attempt } from '../../../core/action.ts';
import { durationText } from '../../../core/duration.ts';
import type { ConcurrencyEvent, Event } from '../../../core/event.ts';
import { pauseText } from '../../../report/pauses.ts';
import { requestText } from '../request.ts';

/** Describes an attempt to send a request on one line, such as `record 17  profile  GET https://api.example.com/users/17  200  34 ms`. */
export function attemptText({ record, node, request, ms, result }: Attempt): string {
  const isTool = 'kind' in request && request.kind === 'tool';
  const [line = ''] = isTool ? [`tool ${request.tool}`] : requestText(request);
  return [`record ${record}`, node, line, resultText(result), durationText(Math.round(ms))].join('  ');
}

function resultText(result: Attempt['result']): string {
  return typeof result === 'object' ? `${result.kind}: ${result.message}` : String(result);
}

/** Describes an event that is printed between attempts; undefined for most kinds of events. */
export function eventText(event: Event): string | undefined {
  if (event.type === 'cache-hit') return `record ${event.record}  ${event.node}  from the cache`;
  if (event.type === 'gate-paused') return pauseText(event);
  if (event.type === 'concurrency') return concurrencyText(event);
  return undefined;
}

/** The text to print for each reason why the limit on requests in flight changes. */
const reasons: Readonly<Record<ConcurrencyEvent['reason'], string>> = {
  start: 'at first',
  fast: 'answers are still as fast',
  slow: 'answers have become slower',
  'no-effect': 'fewer requests did not make answers faster',
  refused: 'the server refused a request',
};

/** Describes a change of the limit on requests in flight, such as `concurrency of http-1: 4 to 8, answers stay as fast`. */
function concurrencyText({ gate, from, to, reason, worker }: ConcurrencyEvent): string {
  const name = worker === undefined ? gate : `${gate} in worker ${worker}`;
  return `concurrency of ${name}: ${from === undefined ? '' : `${from} to `}${to}, ${reasons[reason]}`;
}

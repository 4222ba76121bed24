import { durationText } from '../core/duration.ts';
import type { Event } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import { AutomateError, errorOf } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Ports } from '../core/ports.ts';
import type { SessionOptions } from '../core/run-options.ts';
import { creditsText } from '../core/text/number.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { noSecrets } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import { statesPrice } from '../credits/prices.ts';
import { Gates } from '../engine/gates.ts';
import type { ReservedPath } from '../http/transfers/reserved-paths.ts';
import { filesFolder, refuseWithoutFolder } from '../records/inputs.ts';
import { reservedPaths } from '../run/reserved-paths.ts';
import { openSession, type SessionParts, useOf } from '../run/session.ts';
import type { WiredPorts } from '../run/wire.ts';
import type { Preview } from './preview.ts';
import { RequestTest, type RequestTestOptions } from './request-test.ts';

interface PreviewedRecord {
  readonly plan: Plan;
  readonly flow: string;
  readonly step: Step;
  readonly item: Item;
  readonly options: RequestTestOptions & SessionOptions;
}

/** Records the requests of a run of one record, and answers the same requests afterwards. A saved test is made from the recording. */
interface Recording {
  /** The record's final failure, after all retries; undefined if the record succeeded. */
  readonly failure: Failure | undefined;
  run(plan: Plan, item: Item, ports: WiredPorts, gates: Gates): Promise<void>;
  /** Returns ports that answer every request from the recording, and skip all waits. */
  replaying<Given extends Ports>(ports: Given): Given;
  /** Returns ports that answer every request with its last recorded result. */
  replayingLast<Given extends Ports>(ports: Given): Given;
}

/** The objects that a preview shares with this process's runs, and the API key that pays. */
interface SharedWithRuns extends Pick<SessionParts, 'routes' | 'key'> {
  readonly gates?: Gates;
  /** Files and folders that the records of all flows can neither send nor save to. */
  readonly reserved?: readonly ReservedPath[];
  /** Receives all requests that the flow sends for the record, including those before the previewed one. */
  readonly recorder?: Recording;
}

/** `spent` is the cost of the preview in credits; undefined if credits have neither a limit nor a price. */
export async function previewRecord(
  { plan, flow, step, item, options }: PreviewedRecord,
  messages: Messages,
  { gates, routes, key, reserved, recorder }: SharedWithRuns = {},
): Promise<{ readonly preview: Preview; readonly spent: number | undefined }> {
  const { send } = options;
  const use = send ? useOf(plan, flow, options.env) : { name: flow, credentials: [], prices: new Map() };
  if (send) refuseWithoutFolder(plan, options);
  const { cacert } = options;
  const files = { folder: filesFolder(options), reserved: await reservedPaths(plan, { flow, cacert, reserved }), isTrial: true };
  const session = await openSession(use, options, messages, { routes, key, files, ...(!send && { credentials: noSecrets }) });
  const { ports, ledger } = session;
  const pool = gates ?? new Gates(ports.clock);
  const spent = () => (send && (ledger.isLimited || statesPrice(plan)) ? ports.credits() : undefined);
  try {
    // Checks this only now, because only the session knows the secrets, and the message might have to mask one.
    refuseUnread(item, options);
    if (recorder) {
      const report = (event: Event) => {
        ports.report(event);
        sayRetry(event, messages);
      };
      await recorder.run(plan, item, { ...ports, report }, pool);
      return { preview: await previewAgain({ plan, flow, step, item, options }, recorder, ports, messages), spent: spent() };
    }
    const preview = await new RequestTest(plan, ports, { ...options, gates: pool }, messages).preview(step, item);
    if (preview.failure) preview.failure.node ??= step.id;
    return { preview, spent: spent() };
  } catch (error) {
    // Reports spent credits even on failure, because the requests of earlier nodes may already have cost credits.
    if (spent()) messages.say(`${creditsText(ports.credits())} spent`);
    throw error;
  } finally {
    await session.close();
  }
}

/** Throws an AutomateError (`input`) for a record that could not be read. */
function refuseUnread({ failure }: Item, { in: input, moreIn }: RequestTestOptions): void {
  if (!failure) return;
  // With several inputs, the message already names the file.
  const name = moreIn ? '' : `${input === '-' ? '<stdin>' : input}: `;
  throw errorOf('input', { ...failure, message: `${name}${failure.message}` });
}

function sayRetry(event: Event, { say }: Messages): void {
  if (event.type === 'call-retried') say(`${event.node}: ${event.message}; asks again after ${durationText(event.waitMs)}`);
}

/** Previews a request that a run has already sent, with the last response to it. If the whole record failed, it has that failure. */
async function previewAgain(
  { plan, step, item, options }: PreviewedRecord,
  recorder: Recording,
  ports: WiredPorts,
  messages: Messages,
): Promise<Preview> {
  const replaying = recorder.replaying(ports);
  const parts = { gates: new Gates(replaying.clock), repeated: recorder.replayingLast(ports) };
  const { failure } = recorder;
  try {
    const { failure: _, ...preview } = await new RequestTest(plan, replaying, { ...options, ...parts }, messages).preview(step, item);
    return failure ? { ...preview, failure } : preview;
  } catch (error) {
    // The record may have failed before it reached this node.
    if (!(error instanceof AutomateError)) throw error;
    return failure ? { failure } : {};
  }
}

/** The default is the first step that sends a request. Throws an AutomateError (`usage`) if there is no such step. */
export function chosenStep(plan: Plan, id: string | undefined): Step {
  const acting = allSteps(plan.steps).filter(({ node }) => node.action);
  const step = id === undefined ? acting[0] : acting.find((candidate) => candidate.id === id);
  if (step) return step;
  if (id === undefined) throw new AutomateError('usage', 'this flow has no node that sends a request');
  const ids = acting.map((candidate) => candidate.id);
  throw new AutomateError('usage', `no node "${id}" sends a request${didYouMean(id, ids) || `; expected ${ids.join(', ')}`}`);
}

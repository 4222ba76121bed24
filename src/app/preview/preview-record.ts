import { AutomateError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { creditsText } from '../../core/text/number.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { Gates } from '../../engine/gates.ts';
import { noSecrets } from '../flow/flow-secrets.ts';
import { filesFolder, refuseWithoutFolder } from '../input/files-folder.ts';
import type { Messages } from '../messages.ts';
import { statesPrice } from '../ports/run-ledger.ts';
import { openSession, type SessionOptions, type SessionParts, useOf } from '../session.ts';
import type { Preview } from './preview.ts';
import { RequestTest, type RequestTestOptions } from './request-test.ts';

/** A record whose request is previewed. */
export interface PreviewedRecord {
  readonly plan: Plan;
  /** The flow's file. */
  readonly flow: string;
  readonly step: Step;
  readonly item: Item;
  readonly options: RequestTestOptions & SessionOptions;
}

/** The parts of a process that a preview shares with its runs, and the API key that pays. */
export interface SharedWithRuns extends Pick<SessionParts, 'routes' | 'key'> {
  readonly gates?: Gates;
}

/** Previews one request of a flow. `spent`: the credits that it has cost; undefined if nothing limits or prices them. */
export async function previewRecord(
  { plan, flow, step, item, options }: PreviewedRecord,
  messages: Messages,
  { gates, routes, key }: SharedWithRuns = {},
): Promise<{ readonly preview: Preview; readonly spent: number | undefined }> {
  const { send } = options;
  const use = send ? useOf(plan, flow, options.env) : { name: flow, credentials: [], prices: new Map() };
  if (send) refuseWithoutFolder(plan, options);
  const files = { folder: filesFolder(options), isTrial: true };
  const session = await openSession(use, options, messages, { routes, key, files, ...(!send && { credentials: noSecrets }) });
  const { ports, ledger } = session;
  const spent = () => (send && (ledger.isLimited || statesPrice(plan)) ? ports.credits() : undefined);
  try {
    const test = new RequestTest(plan, ports, { ...options, gates: gates ?? new Gates(ports.clock) }, messages);
    const preview = await test.preview(step, item);
    if (preview.failure) preview.failure.node ??= step.id;
    return { preview, spent: spent() };
  } catch (error) {
    // The nodes before have sent something.
    if (spent()) messages.say(`${creditsText(ports.credits())} spent`);
    throw error;
  } finally {
    await session.close();
  }
}

/** The step that is previewed: the one of that id, or the first that sends a request. Throws an AutomateError (`usage`). */
export function chosenStep(plan: Plan, id: string | undefined): Step {
  const acting = allSteps(plan.steps).filter(({ node }) => node.action);
  const step = id === undefined ? acting[0] : acting.find((candidate) => candidate.id === id);
  if (step) return step;
  if (id === undefined) throw new AutomateError('usage', 'this flow has no node that sends a request');
  const ids = acting.map((candidate) => candidate.id);
  throw new AutomateError('usage', `no node "${id}" sends a request${didYouMean(id, ids) || `; expected ${ids.join(', ')}`}`);
}

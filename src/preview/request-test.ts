import { type ActionRequest, type ActionResponse, completed, gateOf, isLocal } from '../core/action.ts';
import { textStart } from '../core/answer/charset.ts';
import { type Arrival, arrivalOf } from '../core/answer/facts.ts';
import { inQuotes, readBody } from '../core/answer/response.ts';
import { AutomateError, errorOf, Failure, LimitReached } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { type Action, type Inner, type Node, type Step, Unasked } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Clock } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { SetFields } from '../core/run-options.ts';
import type { Value } from '../core/value/value.ts';
import type { Messages } from '../credentials/messages.ts';
import type { Gates } from '../engine/gates.ts';
import { costOf, readable, sendRequest, withFacts } from '../nodes/calling.ts';
import type { WiredPorts } from '../run/wire.ts';
import { asFailure, ChainMaker } from './look-up.ts';
import type { Preview } from './preview.ts';

interface PreviewParts {
  readonly gates: Gates;
  /** Ports that repeat the response of a run that has already sent the previewed request. Undefined to send the request. */
  readonly repeated?: WiredPorts;
}

export interface RequestTestOptions {
  readonly in?: string;
  readonly moreIn?: readonly string[];
  readonly set: SetFields;
  readonly send: boolean;
}

/** Sends one request of a flow. First, sends the requests of the earlier nodes, because the request may contain their results. */
export class RequestTest {
  readonly #plan: Plan;
  readonly #ports: WiredPorts;
  readonly #options: RequestTestOptions & PreviewParts;
  readonly #messages: Messages;

  constructor(plan: Plan, ports: WiredPorts, options: RequestTestOptions & PreviewParts, messages: Messages) {
    this.#plan = plan;
    this.#ports = ports;
    this.#options = options;
    this.#messages = messages;
  }

  async preview(step: Step, item: Item): Promise<Preview> {
    const unordered = this.#serialFailure(item);
    if (unordered) return { failure: unordered };
    const fields = await this.#fieldsBefore(step, item);
    if (fields instanceof Failure) return { failure: fields };
    const { clock } = this.#ports;
    if (skips(step, fields, clock)) {
      this.#messages.say(`a run skips ${step.id} for this record, because its \`when\` is false`);
      if (this.#options.repeated) return {};
    }
    const action = step.node.action as Action;
    const named = prepareFor(action, fields, clock, this.#unsentBefore(step));
    if (named instanceof Unasked) return this.#unasked(unaskedReason(action));
    const request = await completed(named, this.#ports.lookups);
    if (!request) return this.#unasked(`no chain is called ${inQuotes(soughtIn(named))}`);
    const { minCalls = 1 } = action;
    if (minCalls > 1) this.#messages.say(`a run sends ${minCalls} requests for each record: this is the first`);
    return this.#options.send ? this.#sentInTurn(step.id, action, request, fields) : { request };
  }

  #serialFailure({ fields }: Item): Failure | undefined {
    try {
      this.#plan.serialOrder?.keyOf(fields, this.#ports.clock);
      return undefined;
    } catch (error) {
      return asFailure(error);
    }
  }

  #unasked(reason: string): Preview {
    this.#messages.say(`a run sends no request for this record: ${reason}`);
    return {};
  }

  /** The earlier nodes that would send requests, if this preview sends nothing. */
  #unsentBefore(step: Step): string[] {
    return this.#options.send ? [] : callingIds(stepsBefore(this.#plan.steps, step) ?? []);
  }

  /** Sends a request as a run does. The request waits for the gate (the rate limiter of the API), and counts as a request in flight. */
  #sentInTurn(node: string, action: Action, request: ActionRequest, fields: Fields): Promise<Preview> {
    const send = () => this.#sent(node, action, request, fields);
    const { limit, intervalMs } = action;
    return isLocal(request) ? send() : this.#options.gates.pass({ gate: gateOf(request), limit, intervalMs }, send);
  }

  async #sent(node: string, action: Action, request: ActionRequest, fields: Fields): Promise<Preview> {
    const { ledger, lookups, documents } = this.#ports;
    const { http, tools, clock } = this.#options.repeated ?? this.#ports;
    const startedMs = clock.now();
    const refusal = ledger.hold(node);
    if (refusal) throw errorOf('credits', refusal);
    let response: ActionResponse;
    let arrival: Arrival;
    try {
      const sent = await sendRequest(request, { http, tools, lookups, report: () => undefined });
      arrival = arrivalOf({ number: 1, startedMs }, clock, 'kind' in sent ? undefined : sent.atMs);
      response = await readable(sent, action, documents);
    } catch (error) {
      if (error instanceof Failure && error.sent) ledger.settle(node);
      else ledger.release(node);
      return { request, failure: asFailure(error) };
    }
    const preview = { request, response, ms: clock.now() - startedMs };
    let cost: number | undefined;
    // Parsing a long answer takes long, and so does writing it: others continue in between.
    await clock.yieldIfLong();
    try {
      const accepted = action.accept(response, request, fields, clock);
      // The page lets people choose facts that the flow's own map does not read.
      const answer = isLocal(request) ? accepted : withFacts({ readsFacts: true }, accepted, request, arrival);
      cost = costOf(action, answer);
      await clock.yieldIfLong();
      const morePages = action.morePages?.(answer, request);
      const shown = action.makesDocument ? { body: answer.body } : shownBody(action, response, answer.body);
      return { ...preview, facts: answer.facts, ...shown, ...action.read(fields, answer), morePages };
    } catch (error) {
      // As in a run, a call costs nothing if a limit ends it.
      if (error instanceof LimitReached) cost = 0;
      return { ...preview, ...shownBody(action, response), failure: asFailure(error) };
    } finally {
      ledger.settle(node, cost);
    }
  }

  /**
   * Returns the fields that the record has when it reaches the step. If the preview sends requests, the earlier nodes do, too, which costs
   * credits. If an earlier node splits the record into several, only the first continues.
   */
  async #fieldsBefore(step: Step, item: Item): Promise<Fields | Failure> {
    const before = stepsBefore(this.#plan.steps, step)?.filter(({ node }) => this.#options.send || !makesCalls(node)) ?? [];
    const calling = callingIds(before);
    if (calling.length > 0) this.#messages.say(`running node${calling.length === 1 ? '' : 's'} ${calling.join(', ')} first`);
    const chains = new ChainMaker(this.#plan, this.#ports, this.#options.gates);
    let { fields } = item;
    try {
      for (const one of before) {
        const first = await chains.firstRow(one, { ...item, fields });
        if (first instanceof Failure) return first;
        fields = first;
      }
      return new Map([...fields, ...this.#options.set]);
    } finally {
      chains.close();
    }
  }
}

function unaskedReason({ lookup }: Action): string {
  return lookup === undefined ? 'null does not match anything in an answer' : 'there is nothing to look up';
}

function soughtIn(request: ActionRequest): string {
  return ('completion' in request && request.completion?.sought) || '';
}

function skips({ when }: Step, fields: Fields, clock: Clock): boolean {
  try {
    return when !== undefined && !when.evaluate(fields, clock);
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

function callingIds(steps: readonly Step[]): string[] {
  return steps.flatMap(({ id, node }) => (makesCalls(node) ? [`"${id}"`] : []));
}

function prepareFor(action: Action, fields: Fields, clock: Clock, unsent: readonly string[]): ActionRequest | Unasked {
  try {
    return action.prepare(fields, clock);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.kind === 'template' && unsent.length > 0) {
      const reason = `nothing is sent, so the earlier ${unsent.length === 1 ? 'node' : 'nodes'} ${unsent.join(', ')} ${unsent.length === 1 ? 'adds' : 'add'} no fields`;
      throw new AutomateError('usage', `${error.message}\n${reason}`, { code: 'field-missing', details: { unsent }, cause: error });
    }
    if (error.kind !== 'template') throw errorOf('flow', error, error);
    throw new AutomateError('flow', error.message, { code: 'field-missing', details: { unsent: [] }, cause: error });
  }
}

/** Undefined if the step is not among `steps`. */
function stepsBefore(steps: readonly Step[], step: Step): Step[] | undefined {
  for (const [index, candidate] of steps.entries()) {
    const inside = candidate === step ? [] : stepsBeforeInside(candidate.node.inner, step);
    if (inside) return [...steps.slice(0, index), ...inside];
  }
  return undefined;
}

/** An alternative starts from the record as it came in, so the others do not run before it. */
function stepsBeforeInside({ steps, areAlternatives }: Partial<Inner> = {}, step: Step): Step[] | undefined {
  if (!areAlternatives) return stepsBefore(steps ?? [], step);
  return steps?.map((each) => stepsBefore([each], step)).find((before) => before !== undefined);
}

function makesCalls({ action, inner }: Node): boolean {
  return action !== undefined || allSteps(inner?.steps ?? []).some(({ node }) => node.action);
}

/** Returns the response body for display, whatever the status. `read` is the body as the node has read it; undefined if it has not. */
function shownBody({ responseMode = 'auto' }: Action, response: ActionResponse, read?: Value): Pick<Preview, 'body' | 'unread'> {
  if ('kind' in response) return { body: response.body };
  // Parsing long JSON a second time would take seconds. A document is not parsed again, and the node may have put its elements into lists.
  if (read !== undefined && !response.document) return { body: read };
  try {
    return { body: readBody(response, responseMode, false) };
  } catch (error) {
    // The dots mark the body as cut off. Without them, half a secret at the end would not be masked.
    return { body: textStart(response, response.body.length) + (response.endedByClose ? '...' : ''), unread: asFailure(error) };
  }
}

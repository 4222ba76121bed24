import { randomUUID } from 'node:crypto';
import { cleaned } from '../../core/answer/response.ts';
import { AutomateError, Failure, Unfinished } from '../../core/failure.ts';
import type { Item, PartialRows } from '../../core/item.ts';
import type { Action, ActionOf, ActionRequest, ActionResponse, Node, Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { createBatches } from '../../engine/batches.ts';
import { createCaller, createProgress } from '../../engine/call.ts';
import { createChain } from '../../engine/chain.ts';
import { createGates } from '../../engine/gate.ts';
import { createStopping } from '../../engine/stopping.ts';
import { exitCodes } from '../exit.ts';
import { checkFields, loadFlow, loadFlowFor, printWarnings } from '../flow/flow-file.ts';
import { loadSecrets, noSecrets } from '../flow/flow-secrets.ts';
import { hasTextCells, type InputOptions, isTable, openInput } from '../input-options.ts';
import { openRunLedger, pricesOf } from '../run/run-ledger.ts';
import { creditsText } from '../show/number.ts';
import { type Preview, previewText, previewValue } from '../show/preview.ts';
import { printJson } from '../show/print-json.ts';
import type { Terminal } from '../terminal.ts';
import { type WiredPorts, wire } from '../wire.ts';

/** The options of `automate test-request`. */
export interface TestRequestOptions extends Omit<InputOptions, 'in'> {
  readonly in?: string;
  readonly record: number;
  readonly set: readonly [string, string][];
  readonly node?: string;
  readonly json?: boolean;
  readonly curl?: boolean;
  readonly send: boolean;
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
}

/** Previews one request of a flow; answers the exit code. */
export async function testRequestCommand(flow: string, options: TestRequestOptions, terminal: Terminal): Promise<number> {
  const allowHttp = options.allowHttp ?? false;
  const given = { allowHttp, textCells: options.in === undefined || hasTextCells(options) };
  const plan =
    options.in === undefined
      ? await loadFlow(flow, given)
      : await loadFlowFor({ ...options, in: options.in }, flow, given, setNames(options));
  const step = chosenStep(plan, options.node);
  if (options.curl && step.node.action?.kind === 'tool') throw new AutomateError('usage', noCurl(step.id));
  const { item, columns } = await recordOf(plan, flow, options);
  printWarnings(plan, flow, terminal, columns);
  const credentials = options.send ? await loadSecrets(plan, flow, options, terminal) : noSecrets;
  const { warn } = terminal;
  const ledger = await openRunLedger(options.send ? pricesOf(plan, options.env) : new Map(), { run: randomUUID(), env: options.env, warn });
  const ports = wire({
    credentials,
    redactor: terminal.redactor,
    allowHttp,
    cacert: options.cacert,
    ledger,
    env: options.env,
    report: () => {},
    warn,
  });
  const preview = await previewOf(plan, step, item, ports, options, terminal)
    .catch((error: unknown) => {
      // The nodes before have sent something.
      if (ports.credits() > 0) terminal.say(`${creditsText(ports.credits())} spent`);
      throw error;
    })
    .finally(async () => {
      await ports.close();
      ledger.close();
      await credentials.noted();
    });
  if (preview.failure) preview.failure.node ??= step.id;
  await show(preview, step.node.action as Action, options, terminal);
  if (options.send) terminal.say(`${creditsText(ports.credits())} spent`);
  if (!preview.failure) return exitCodes.success;
  const { kind, node, message } = preview.failure;
  terminal.say(`${terminal.colors.red('failed:')} ${node}: ${kind}: ${cleaned(message)}`);
  return exitCodes.someFailed;
}

async function show(preview: Preview, action: Action, { json, curl = false }: TestRequestOptions, terminal: Terminal): Promise<void> {
  if (json) return printJson(previewValue(preview, action, curl), terminal);
  const text = previewText(preview, action, curl);
  if (text !== '') await terminal.print(text);
}

/** Whatever it sends: its request is sent as what it is, and its answer given back to it. */
type AnyAction = ActionOf<ActionRequest, ActionResponse>;

function noCurl(id: string): string {
  return `--curl shows HTTP requests; "${id}" calls a tool, in a session that curl does not have\nleave --curl out, or take --json`;
}

function chosenStep(plan: Plan, id: string | undefined): Step {
  const acting = allSteps(plan.steps).filter(({ node }) => node.action);
  const step = id === undefined ? acting[0] : acting.find((candidate) => candidate.id === id);
  if (step) return step;
  if (id === undefined) throw new AutomateError('usage', 'this flow has no node that sends a request');
  const ids = acting.map((candidate) => candidate.id);
  throw new AutomateError('usage', `no node "${id}" sends a request${didYouMean(id, ids) || `; expected ${ids.join(', ')}`}`);
}

function setNames({ set }: TestRequestOptions): string[] {
  return set.map(([field]) => field);
}

/** The record that was asked for, with the fields that were set. Throws a FlowError for a reference that no record of a table can satisfy. */
async function recordOf(plan: Plan, flow: string, options: TestRequestOptions): Promise<{ item: Item; columns?: readonly string[] }> {
  const end = { offset: 0, line: 0 };
  if (options.in === undefined) return { item: { number: 1, fields: new Map(options.set), end } };
  const source = await openInput({ ...options, in: options.in });
  try {
    const columns = [...(source.columns ?? []), ...setNames(options)];
    if (isTable(source.format)) checkFields(plan, flow, columns);
    for await (const items of source.batches()) {
      const item = items.find(({ number }) => number === options.record);
      if (item) return { item: { ...item, fields: new Map([...item.fields, ...options.set]) }, columns };
    }
  } finally {
    await source.close();
  }
  throw new AutomateError('input', `${options.in} has no record ${options.record}`);
}

async function previewOf(
  plan: Plan,
  step: Step,
  item: Item,
  ports: WiredPorts,
  options: TestRequestOptions,
  terminal: Terminal,
): Promise<Preview> {
  if (item.failure) throw new AutomateError('input', `${options.in === '-' ? '<stdin>' : options.in}: ${item.failure.message}`);
  const action: AnyAction = step.node.action as Action;
  const fields = await fieldsBefore(plan, step, item, ports, options, terminal);
  if (fields instanceof Failure) return { failure: fields };
  if (passesBy(step, fields)) terminal.say(`in a run this record would pass ${step.id} by: its \`when\` is false`);
  if (action.unasked?.(fields)) terminal.say(`in a run nothing would be asked for this record: null finds nothing in an answer`);
  const request = rendered(action, fields);
  if (!options.send) return { request };
  const startedMs = ports.clock.now();
  const refusal = ports.ledger.hold(step.id);
  if (refusal !== undefined) throw new AutomateError('credits', refusal);
  let response: ActionResponse;
  try {
    response = 'kind' in request ? await ports.tools.call(request, () => {}) : await ports.http.send(request);
    ports.ledger.settle(step.id, action.refusal(response) ? undefined : action.cost(response));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.sent) ports.ledger.settle(step.id);
    else ports.ledger.release(step.id);
    return { request, failure: error };
  }
  const preview = { request, response, ms: ports.clock.now() - startedMs };
  return { ...preview, ...read(action, fields, response) };
}

function passesBy({ when }: Step, fields: Fields): boolean {
  try {
    return when !== undefined && !when.evaluate(fields);
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

function rendered(action: AnyAction, fields: Fields): ActionRequest {
  try {
    return action.request(fields);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const mend = error.kind === 'template' ? '\nset it with --set field=value, or take a record with --in FILE --record N' : '';
    throw new AutomateError('flow', error.message + mend);
  }
}

/**
 * The record as it reaches the node. Nodes before it that send requests do so for real: they, too, cost credits.
 * One record is enough: of several that a node makes of it, the first goes on alone.
 */
async function fieldsBefore(
  plan: Plan,
  step: Step,
  item: Item,
  ports: WiredPorts,
  options: TestRequestOptions,
  terminal: Terminal,
): Promise<Fields | Failure> {
  const before = stepsBefore(plan.steps, step)?.filter(({ node }) => options.send || !isActing(node)) ?? [];
  const sending = before.filter(({ node }) => isActing(node));
  if (sending.length > 0) terminal.say(`first sending ${sending.map(({ id }) => id).join(', ')}, whose fields this node may need`);
  let stopped: string | undefined;
  const stopping = createStopping({
    requested(_ending, reason) {
      stopped = reason;
    },
    narrowed: () => undefined,
    spent: () => undefined,
  });
  const call = createCaller({ ports, stopping, gates: createGates(ports.clock) });
  const batches = createBatches({ nodes: allSteps(plan.steps), clock: ports.clock, call, supply: () => 'ended' });
  let { fields } = item;
  for (const one of before) {
    const rows: Fields[] = [];
    const pass = createChain({ steps: [one] }, { ports, stopping, call, batches, partialRows: () => gatherInto(rows) });
    const passed = await pass({ ...item, fields }, createProgress()).catch((error: unknown) => {
      if (error instanceof Unfinished && stopped !== undefined) throw new AutomateError('credits', stopped);
      return failureOf(error);
    });
    if (passed instanceof Failure) return passed;
    const [first] = 'drop' in passed ? rows : passed;
    if (!first) throw new AutomateError('input', 'a node before this one drops the record; choose another with --record N');
    fields = first;
  }
  return new Map([...fields, ...options.set]);
}

/** Throws what is none. */
function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}

function gatherInto(rows: Fields[]): PartialRows {
  return {
    get rows() {
      return rows.length;
    },
    async add(added) {
      for (const row of added) rows.push(row);
    },
    drop: () => undefined,
  };
}

/** The steps that a record passes before one, on its first way; absent when the step is not among them. */
function stepsBefore(steps: readonly Step[], step: Step): Step[] | undefined {
  for (const [index, candidate] of steps.entries()) {
    const inside = candidate === step ? [] : stepsBefore(candidate.node.inner?.steps ?? [], step);
    if (inside) return [...steps.slice(0, index), ...inside];
  }
  return undefined;
}

function isActing({ action, inner }: Node): boolean {
  return action !== undefined || allSteps(inner?.steps ?? []).some(({ node }) => node.action);
}

type Reading = Pick<Preview, 'body' | 'unread' | 'rows' | 'found' | 'failure'>;

/** A body that cannot be read fails only what looks into it. */
function read(action: AnyAction, fields: Fields, response: ActionResponse): Reading {
  const body = bodyOf(action, response);
  const refusal = action.refusal(response);
  if (refusal) return { ...body, failure: refusal };
  try {
    const found: boolean[] = [];
    const rows = action.rows(fields, response, found);
    return { ...body, rows, found };
  } catch (error) {
    return { ...body, failure: failureOf(error) };
  }
}

function bodyOf(action: AnyAction, response: ActionResponse): Pick<Preview, 'body' | 'unread'> {
  try {
    return { body: action.body(response) };
  } catch (error) {
    const unread = failureOf(error);
    if ('kind' in response) return { unread };
    // What was cut off is marked so: else the beginning of a secret would not be known for one.
    return { body: new TextDecoder().decode(response.body) + (response.endedByClose ? '...' : ''), unread };
  }
}

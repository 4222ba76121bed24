import { AutomateError, Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Action } from '../../core/node.ts';
import type { Plan, Step } from '../../core/plan.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { cleaned } from '../../core/response.ts';
import { didYouMean } from '../../core/suggest.ts';
import { jsonOf, textOf, type Value } from '../../core/value.ts';
import { createCaller } from '../../engine/call.ts';
import { createChain } from '../../engine/chain.ts';
import { createGates } from '../../engine/gate.ts';
import { createStopping } from '../../engine/stopping.ts';
import { exitCodes } from '../exit.ts';
import { loadFlow, loadSecrets, tellWarnings } from '../flow-file.ts';
import { hasTextCells, type InputOptions, openInput } from '../input-options.ts';
import { curlText, requestText } from '../show/request.ts';
import { structureOf, tableText } from '../show/structure.ts';
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
  readonly allowHttp?: boolean;
  readonly cacert?: string;
}

/** What came back, or why nothing did. */
interface Preview {
  readonly request: HttpRequest;
  readonly response?: HttpResponse;
  readonly ms?: number;
  readonly body?: Value | undefined;
  readonly rows?: readonly Fields[];
  readonly found?: readonly boolean[];
  readonly failure?: Failure;
}

/** Previews one request of a flow; answers the exit code. */
export async function testRequestCommand(flow: string, options: TestRequestOptions, terminal: Terminal): Promise<number> {
  const allowHttp = options.allowHttp ?? false;
  const plan = await loadFlow(flow, { allowHttp, textCells: options.in === undefined || hasTextCells(options) });
  tellWarnings(plan, flow, terminal);
  const step = chosenStep(plan, options.node);
  const item = await recordOf(options);
  const secrets = options.send ? await loadSecrets(plan, flow, terminal.redactor) : new Map<string, string>();
  const ports = wire({ secrets, redactor: terminal.redactor, allowHttp, cacert: options.cacert, maxCredits: undefined, report: () => {} });
  const preview = await previewOf(plan, step, item, ports, options, terminal);
  const action = step.node.action as Action;
  await terminal.print(options.json ? previewJson(preview, action) : previewText(preview, action, options));
  if (options.send) terminal.tell(`${ports.credits()} ${ports.credits() === 1 ? 'credit' : 'credits'} spent`);
  if (preview.failure) terminal.tell(`${terminal.colors.red('failed:')} ${preview.failure.kind}: ${preview.failure.message}`);
  return preview.failure ? exitCodes.someFailed : exitCodes.success;
}

function chosenStep(plan: Plan, id: string | undefined): Step {
  const acting = plan.steps.filter(({ node }) => node.action);
  const step = id === undefined ? acting[0] : acting.find((candidate) => candidate.id === id);
  if (step) return step;
  if (id === undefined) throw new AutomateError('usage', 'this flow has no node that sends a request');
  const ids = acting.map((candidate) => candidate.id);
  throw new AutomateError('usage', `no node "${id}" sends a request${didYouMean(id, ids) || `; expected ${ids.join(', ')}`}`);
}

/** The record that was asked for, with the fields that were set. */
async function recordOf(options: TestRequestOptions): Promise<Item> {
  const end = { offset: 0, line: 0 };
  if (options.in === undefined) return { number: 1, fields: new Map(options.set), end };
  const source = await openInput({ ...options, in: options.in });
  try {
    for await (const items of source.batches()) {
      const item = items.find(({ number }) => number === options.record);
      if (item) return { ...item, fields: new Map([...item.fields, ...options.set]) };
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
  if (item.failure) throw new AutomateError('input', item.failure.message);
  const action = step.node.action as Action;
  const fields = await fieldsBefore(plan, step, item, ports, options, terminal);
  const request = rendered(action, fields);
  if (!options.send) return { request };
  const startedMs = ports.clock.now();
  ports.ledger.hold(step.id);
  let response: HttpResponse;
  try {
    response = await ports.http.send(request);
    ports.ledger.settle(step.id);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.sent) ports.ledger.settle(step.id);
    else ports.ledger.release(step.id);
    return { request, failure: error };
  }
  const preview = { request, response, ms: ports.clock.now() - startedMs };
  return { ...preview, ...read(action, fields, response) };
}

function rendered(action: Action, fields: Fields): HttpRequest {
  try {
    return action.request(fields);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new AutomateError('flow', `${error.message}\nset it with --set field=value, or take a record with --in FILE --record N`);
  }
}

/** The record as it reaches the node. Nodes before it that send requests do so for real: they, too, cost credits. */
async function fieldsBefore(
  plan: Plan,
  step: Step,
  item: Item,
  ports: WiredPorts,
  options: TestRequestOptions,
  terminal: Terminal,
): Promise<Fields> {
  const before = plan.steps.slice(0, plan.steps.indexOf(step)).filter(({ node }) => options.send || !node.action);
  const sending = before.filter(({ node }) => node.action);
  if (sending.length > 0) terminal.tell(`first sending ${sending.map(({ id }) => id).join(', ')}, whose fields this node may need`);
  const stopping = createStopping(() => {});
  const call = createCaller({ ports, stopping, gates: createGates(ports.clock, {}) });
  const outcome = await createChain({ ...plan, steps: before }, { ports, stopping, call })(item);
  if ('failure' in outcome) throw new AutomateError('flow', `${outcome.failure.node}: ${outcome.failure.message}`);
  const [first] = outcome.rows;
  if (!first) throw new AutomateError('flow', 'a node before this one drops the record');
  return new Map([...first, ...options.set]);
}

function read(action: Action, fields: Fields, response: HttpResponse): Pick<Preview, 'body' | 'rows' | 'found' | 'failure'> {
  let body: Value | undefined;
  try {
    body = action.body(response);
    const refusal = action.refusal(response);
    if (refusal) return { body, failure: refusal };
    const found: boolean[] = [];
    const rows = action.rows(fields, response, found);
    return { body, rows, found };
  } catch (error) {
    if (error instanceof Failure) return { body, failure: error };
    throw error;
  }
}

function previewText(preview: Preview, action: Action, options: TestRequestOptions): string {
  const { request, response } = preview;
  const lines = options.curl ? [curlText(request)] : requestText(request);
  if (!response) return lines.map(cleaned).join('\n');
  const structure = structureOf(preview.body).map(({ path, type, sample }) => [path, type, sample]);
  return [
    ...lines,
    '',
    `${response.status} in ${Math.round(preview.ms ?? 0)} ms, ${response.body.length} bytes`,
    ...Object.entries(response.headers).map(([name, value]) => `  ${name}: ${value}`),
    '',
    ...(structure.length > 0 ? tableText([['path', 'type', 'sample'], ...structure]) : ['the body is empty']),
    ...yieldLines(preview, action),
  ]
    .map(cleaned)
    .join('\n');
}

const shownRows = 3;

function yieldLines({ rows, found }: Preview, action: Action): string[] {
  if (!rows || action.paths.length === 0) return rows ? ['', 'without map no field is added'] : [];
  const names = action.fields;
  const shown = rows
    .slice(0, shownRows)
    .flatMap((row, index) => [
      ...(rows.length > 1 ? [`  record ${index + 1} of ${rows.length}`] : []),
      ...tableText(names.map((name) => ['  ', name, textOf(row.get(name) ?? null)])),
    ]);
  const lost = action.paths.filter((_, index) => found?.[index] === false);
  return ['', 'map yields', ...shown, ...lost.map((path) => `  ${path}: found nothing here`)];
}

function previewJson({ request, response, ms, body, rows, failure }: Preview, action: Action): string {
  const { method, origin, path, headers, auth } = request;
  return jsonOf({
    request: { method, url: origin + path, headers: { ...headers }, auth: auth?.type ?? null, body: request.body ?? null },
    response: response
      ? {
          status: response.status,
          ms: Math.round(ms ?? 0),
          headers: JSON.parse(JSON.stringify(response.headers)) as Value,
          body: body ?? null,
        }
      : null,
    structure: response ? structureOf(body).map((row) => ({ ...row })) : null,
    map: rows ? rows.map((row) => Object.fromEntries(action.fields.map((name) => [name, row.get(name) ?? null]))) : null,
    failure: failure ? { class: failure.kind, status: failure.status ?? null, message: failure.message } : null,
  });
}

import { cleaned } from '../../core/answer/response.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Action, Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { exitCodes } from '../exit.ts';
import { checkFields, loadFlow, loadFlowFor, printWarnings } from '../flow/flow-file.ts';
import { hasTextCells, isTable, openInput, withToldFormat } from '../input-options.ts';
import { creditsText } from '../show/number.ts';
import { type Preview, previewText, previewValue } from '../show/preview.ts';
import { printJson } from '../show/print-json.ts';
import { curlNotes, embedded } from '../show/request.ts';
import type { Terminal } from '../terminal.ts';
import { previewRecord } from './preview-record.ts';
import type { TestRequestOptions } from './test-request-options.ts';

/** Previews one request of a flow; answers the exit code. With `--curl` nothing is sent. */
export async function testRequestCommand(flow: string, given: TestRequestOptions, terminal: Terminal): Promise<number> {
  const chosen = given.curl ? { ...given, send: false } : given;
  const options = chosen.in === undefined ? chosen : await withToldFormat({ ...chosen, in: chosen.in }, terminal.say);
  const allowHttp = options.allowHttp ?? false;
  const check = { allowHttp, textCells: options.in === undefined || hasTextCells(options) };
  const plan =
    options.in === undefined
      ? await loadFlow(flow, check)
      : await loadFlowFor({ ...options, in: options.in }, flow, check, setNames(options));
  const step = chosenStep(plan, options.node);
  if (options.curl) refuseCurl(step);
  const { item, columns } = await recordOf(plan, flow, options);
  printWarnings(plan, flow, terminal, columns);
  const { preview, spent } = await previewRecord({ plan, flow, step, item, options }, terminal);
  await show(preview, step.node.action as Action, options, terminal);
  if (options.curl && preview.request && !('kind' in preview.request)) curlNotes(preview.request).forEach(terminal.say);
  if (spent !== undefined) terminal.say(`${creditsText(spent)} spent`);
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

function refuseCurl({ id, node: { action } }: Step): void {
  const { isLocal = false, dataFile } = action?.lookup ?? {};
  const source = dataFile === undefined ? embedded : `the file ${dataFile}`;
  const reason = action?.tool ? 'calls a tool, in a session that curl does not have' : `is answered by ${source}, and sends nothing`;
  if (action?.tool || isLocal)
    throw new AutomateError('usage', `--curl shows HTTP requests; "${id}" ${reason}\nleave --curl out, or take --json`);
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
    for await (const items of source.read()) {
      const item = items.find(({ number }) => number === options.record);
      if (item) return { item: { ...item, fields: new Map([...item.fields, ...options.set]) }, columns };
    }
  } finally {
    await source.close();
  }
  throw new AutomateError('input', `${options.in} has no record ${options.record}`);
}

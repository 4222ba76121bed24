import { exitCodes } from '../../app/exit-codes.ts';
import { checkFields, loadFlow, loadFlowFor } from '../../app/flow/flow-file.ts';
import { filesFolder } from '../../app/input/files-folder.ts';
import { hasTextCells, inputLabel, isTable, openInput, withToldFormat } from '../../app/input/input.ts';
import { embedded, type Preview, previewValue } from '../../app/preview/preview.ts';
import { chosenStep, previewRecord } from '../../app/preview/preview-record.ts';
import { cleaned } from '../../core/answer/response.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Action, Step } from '../../core/node.ts';
import type { Plan } from '../../core/plan.ts';
import { creditsText } from '../../core/text/number.ts';
import { messageWithAdvice } from '../advice.ts';
import { type WithInputs, withInputs } from '../shared-options.ts';
import { previewText } from '../show/preview.ts';
import { printJson } from '../show/print-json.ts';
import { printWarnings } from '../show/problems.ts';
import { curlNotes, curlText } from '../show/request.ts';
import { sayFormat, type Terminal } from '../terminal.ts';
import type { TestRequestOptions } from './test-request-options.ts';

/** Previews one request of a flow; answers the exit code. With `--curl` nothing is sent. */
export async function testRequestCommand(flow: string, given: TestRequestOptions, terminal: Terminal): Promise<number> {
  const chosen = withInputs(given.curl ? { ...given, send: false } : given);
  const options = chosen.in === undefined ? chosen : await withToldFormat({ ...chosen, in: chosen.in }, sayFormat(terminal));
  const allowHttp = options.allowHttp ?? false;
  const { env, var: variables } = options;
  const check = { allowHttp, env, var: variables, textCells: options.in === undefined || hasTextCells(options) };
  const plan =
    options.in === undefined
      ? await loadFlow(flow, check)
      : await loadFlowFor({ ...options, in: options.in }, flow, check, setNames(options));
  const step = chosenStep(plan, options.node);
  if (options.curl) refuseCurl(step);
  const place = { flow, plan, step, check };
  if (options.write !== undefined) await (await import('./write-map.ts')).checkWrite(place, options, terminal);
  const { item, columns } = await recordOf(plan, flow, options);
  printWarnings(plan, flow, terminal, columns);
  const { preview, spent } = await previewRecord({ plan, flow, step, item, options }, terminal);
  await show(preview, step.node.action as Action, options, terminal);
  if (options.curl && preview.request && !('kind' in preview.request)) curlNotes(preview.request).forEach(terminal.say);
  if (spent !== undefined) terminal.say(`${creditsText(spent)} spent`);
  if (!preview.failure) {
    if (options.write !== undefined) await (await import('./write-map.ts')).writeMap(place, preview, options.write, terminal);
    return exitCodes.success;
  }
  const { kind, node } = preview.failure;
  terminal.say(`${terminal.colors.red('failed:')} ${node}: ${kind}: ${cleaned(messageWithAdvice(preview.failure))}`);
  return exitCodes.someFailed;
}

async function show(preview: Preview, action: Action, options: WithInputs<TestRequestOptions>, terminal: Terminal): Promise<void> {
  const { json, curl = false } = options;
  const folder = filesFolder(options);
  const { request } = preview;
  const line = curl && request && !('kind' in request) ? curlText(request, folder) : undefined;
  if (json) return printJson(previewValue(preview, action, line), terminal);
  const text = previewText(preview, action, line);
  if (text !== '') await terminal.print(text);
}

function refuseCurl({ id, node: { action } }: Step): void {
  const { isLocal = false, dataFile } = action?.lookup ?? {};
  const source = dataFile === undefined ? embedded : `the file ${dataFile}`;
  const reason = action?.tool ? 'calls a tool, in a session that curl does not have' : `is answered by ${source}, and sends nothing`;
  if (action?.tool || isLocal)
    throw new AutomateError('usage', `--curl shows HTTP requests; "${id}" ${reason}\nleave --curl out, or take --json`);
}

function setNames({ set }: WithInputs<TestRequestOptions>): string[] {
  return set.map(([field]) => field);
}

/** The record that was asked for, with the fields that were set. Throws a FlowError for a reference that no record of a table can satisfy. */
async function recordOf(
  plan: Plan,
  flow: string,
  options: WithInputs<TestRequestOptions>,
): Promise<{ item: Item; columns?: readonly string[] }> {
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
  throw new AutomateError(
    'input',
    `${options.moreIn ? inputLabel({ ...options, in: options.in }) : options.in} has no record ${options.record}`,
  );
}

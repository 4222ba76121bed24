import type { ActionResponse } from '../../core/action.ts';
import { cleaned, excerpt } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import { AutomateError, type Failure, usageError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Action, Step } from '../../core/node.ts';
import type { Plan } from '../../core/plan.ts';
import { counted, creditsText } from '../../core/text/number.ts';
import { textOf } from '../../core/value/value.ts';
import { withSetFields } from '../../flow/set-fields.ts';
import type { Recorder } from '../../flow-tests/recorder.ts';
import { embedded, type Preview, previewValue, unreadReason } from '../../preview/preview.ts';
import { chosenStep, previewRecord } from '../../preview/preview-record.ts';
import { structureOf } from '../../preview/structure.ts';
import { filesFolder, hasTextCells, inputLabel, openFlowInput, withToldFormat } from '../../records/inputs.ts';
import { morePagesText } from '../../report/early-warnings.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { checkFields, loadFlow, loadFlowFor } from '../../run/flow-file.ts';
import { messageWithAdvice } from '../advice.ts';
import { type WithInputs, withInputs } from '../shared-options.ts';
import { printWarnings } from '../show/problems.ts';
import { curlNotes, curlText, requestText, versionText } from '../show/request.ts';
import { tableText } from '../show/table.ts';
import { printJson, sayFormat, sayNote, type Terminal } from '../terminal.ts';
import type { TestRequestOptions } from './test-request-options.ts';
import type { MapPlace } from './write-map.ts';

/** Previews one request of a flow. With `--curl`, nothing is sent. Returns the exit code. */
export async function testRequestCommand(flow: string, given: TestRequestOptions, terminal: Terminal): Promise<number> {
  const chosen = withInputs(given.curl ? { ...given, send: false } : given);
  const told = chosen.in === undefined ? chosen : await withToldFormat({ ...chosen, in: chosen.in }, sayFormat(terminal));
  const place = await previewedPlace(flow, told);
  const { plan, step } = place;
  const options = { ...told, set: told.set.map(([field, value]) => [plan.names.inFlow(field), value] as const) };
  await checkOptions(place, options, terminal);
  const { item, columns } = await recordOf(plan, flow, options, terminal);
  printWarnings(plan, flow, terminal, columns);
  const recorder = options.saveTest === undefined ? undefined : await newRecorder();
  const { preview, spent } = await previewRecord({ plan, flow, step, item, options }, terminal, { recorder });
  await show(preview, step.node.action as Action, options, terminal);
  if (preview.morePages) terminal.warn(morePagesText(step.id, preview.morePages));
  if (options.curl && preview.request && !('kind' in preview.request)) curlNotes(preview.request).forEach(terminal.say);
  if (recorder) await (await import('./save-test.ts')).saveTest({ plan, flow, item, recorder }, options, terminal);
  else if (spent !== undefined) terminal.say(`${creditsText(spent)} spent`);
  if (preview.failure) return sayFailure(preview.failure, terminal);
  const { write } = options;
  const known = [...new Set([...(columns ?? []), ...item.fields.keys()])];
  if (write !== undefined) await (await import('./write-map.ts')).writeMap(place, preview, { write, columns: known }, terminal);
  return exitCodes.success;
}

async function previewedPlace(flow: string, options: WithInputs<TestRequestOptions>): Promise<MapPlace> {
  const { env, var: variables, allowHttp = false } = options;
  const check = { allowHttp, env, var: variables, textCells: options.in === undefined || hasTextCells(options) };
  const plan =
    options.in === undefined
      ? await loadFlow(flow, check)
      : await loadFlowFor({ ...options, in: options.in }, flow, check, setNames(options));
  return { flow, plan, step: chosenStep(plan, options.node), check };
}

/** Throws before anything is sent if options do not fit the flow. */
async function checkOptions(place: MapPlace, options: WithInputs<TestRequestOptions>, terminal: Terminal): Promise<void> {
  if (options.curl) refuseCurl(place.step);
  if (options.write !== undefined) await (await import('./write-map.ts')).checkWrite(place, options, terminal);
  if (options.saveTest !== undefined) await (await import('./save-test.ts')).checkSave(place, options);
}

function sayFailure(failure: Failure, { say, colors }: Terminal): number {
  say(`${colors.red('failed:')} ${failure.node}: ${failure.kind}: ${cleaned(messageWithAdvice(failure))}`);
  return exitCodes.someFailed;
}

async function newRecorder(): Promise<Recorder> {
  const { Recorder } = await import('../../flow-tests/recorder.ts');
  return new Recorder();
}

async function show(preview: Preview, action: Action, options: WithInputs<TestRequestOptions>, terminal: Terminal): Promise<void> {
  const { json, curl = false } = options;
  const folder = filesFolder(options);
  const { request } = preview;
  const line = curl && request && !('kind' in request) ? curlText(request, folder) : undefined;
  if (json) return printJson(previewValue(preview, action, line), terminal);
  const text = previewText(preview, action, { curl: line, isWriting: options.write !== undefined });
  if (text !== '') await terminal.print(text);
}

function refuseCurl({ id, node: { action } }: Step): void {
  const { isLocal = false, dataFile } = action?.lookup ?? {};
  const source = dataFile === undefined ? embedded : `the file ${dataFile}`;
  const reason = action?.tool ? 'calls an MCP tool, which curl cannot do' : `is answered by ${source}, and sends nothing`;
  if (action?.tool || isLocal) throw usageError(`--curl shows HTTP requests; "${id}" ${reason}\nleave --curl out, or use --json`);
}

function setNames({ set }: WithInputs<TestRequestOptions>): string[] {
  return set.map(([field]) => field);
}

/** The selected record, with the fields of --set added. Throws a FlowError if the flow refers to a column that is not in the table. */
async function recordOf(
  plan: Plan,
  flow: string,
  options: WithInputs<TestRequestOptions>,
  terminal: Terminal,
): Promise<{ item: Item; columns?: readonly string[] }> {
  const end = { offset: 0, line: 0 };
  if (options.in === undefined) return { item: { number: 1, fields: new Map(options.set), end } };
  let read = 0;
  const source = await openFlowInput(withSetFields(plan, options.set), flow, { ...options, in: options.in });
  try {
    source.notes.forEach(sayNote(terminal));
    const columns = [...(source.firstFields ?? []), ...setNames(options)];
    if (source.header) checkFields(plan, flow, columns);
    for await (const items of source.read()) {
      read += items.length;
      const item = items.find(({ number }) => number === options.record);
      if (item) return { item: { ...item, fields: new Map([...item.fields, ...options.set]) }, columns };
    }
  } finally {
    await source.close();
  }
  const input = options.moreIn ? inputLabel({ ...options, in: options.in }) : options.in;
  throw new AutomateError('input', `${input} has no record ${options.record}, only ${counted(read, 'record')} (--record counts from 1)`);
}

function previewText(preview: Preview, action: Action, { curl, isWriting }: { curl: string | undefined; isWriting: boolean }): string {
  const { request, response } = preview;
  const lines = request === undefined ? [] : curl === undefined ? requestText(request) : [curl];
  return [...lines, ...(response ? answerLines(preview, response, { action, isWriting }) : [])].map(cleaned).join('\n');
}

function answerLines(
  preview: Preview,
  response: ActionResponse,
  { action, isWriting }: { readonly action: Action; readonly isWriting: boolean },
): string[] {
  // A node without a map is about to get one.
  const mapped = isWriting && action.fields.length === 0 ? [] : mapLines(preview, action);
  return ['', ...headLines(response, durationText(preview.ms ?? 0)), '', ...bodyLines(preview), ...mapped];
}

function bodyLines({ body, unread, response }: Preview): string[] {
  if (response && 'saved' in response && response.saved) {
    const { path, bytes } = response.saved;
    return [`a run saves the body to ${path}: ${bytes} bytes; nothing was written here`];
  }
  if (unread) return [`${unreadReason(unread)}; as text:`, `  ${excerpt(textOf(body ?? ''))}`];
  const { rows, more } = structureOf(body);
  if (rows.length === 0) return ['the body is empty'];
  const table = tableText([['path', 'type', 'sample'], ...rows.map(({ path, type, sample }) => [path, type, sample])]);
  return more === 0 ? table : [...table, `and ${counted(more, 'more path')}; --json prints the whole body`];
}

function headLines(response: ActionResponse, time: string): string[] {
  if ('kind' in response) return [`${response.kind === 'tool' && response.isError ? 'isError' : 'answered'} in ${time}`];
  return [
    `${response.status}${versionText(response)} in ${time}, ${response.saved?.bytes ?? response.body.length} bytes`,
    ...Object.entries(response.headers).flatMap(([name, value]) => [value].flat().map((one) => `  ${name}: ${one}`)),
  ];
}

const shownRows = 3;

function mapLines({ rows, found }: Preview, action: Action): string[] {
  if (!rows) return [];
  if (action.fields.length === 0) return ['', 'without map, no field is added'];
  const shown = rows
    .slice(0, shownRows)
    .flatMap((row, index) => [
      ...(rows.length > 1 ? [`  record ${index + 1} of ${rows.length}`] : []),
      ...tableText(action.fields.map((name) => ['  ', name, excerpt(textOf(row.get(name) ?? null))])),
    ]);
  const lost = action.paths.filter((_, index) => found?.[index] === false);
  return ['', action.paths.length === 0 ? 'a run adds' : 'map yields', ...shown, ...lost.map((path) => `  ${path}: found nothing here`)];
}

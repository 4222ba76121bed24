import { readFile, stat } from 'node:fs/promises';
import { compileMapping, type Found } from '../../core/answer/mapping.ts';
import { compilePath, lastName } from '../../core/answer/path.ts';
import { invalidOption, usageError } from '../../core/failure.ts';
import type { Step } from '../../core/node.ts';
import { columnsAfterAll, type Plan } from '../../core/plan.ts';
import { counted, formatCount } from '../../core/text/number.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { orUndefined, type Value } from '../../core/value/value.ts';
import { realFile } from '../../files/stat.ts';
import { writeDurably } from '../../files/state-file.ts';
import { nodeTexts, withMap } from '../../flow/map-text.ts';
import type { Preview } from '../../preview/preview.ts';
import { allPaths, type StructureRow, structureOf, withPaths } from '../../preview/structure.ts';
import { compileFlow, type FlowFileOptions } from '../../run/flow-file.ts';
import { mapComment } from '../../starter/starter.ts';
import type { Terminal } from '../terminal.ts';
import type { TestRequestOptions } from './test-request-options.ts';

export interface MapPlace {
  readonly flow: string;
  readonly plan: Plan;
  readonly step: Step;
  readonly check: FlowFileOptions;
}

/** Runs before the request is sent. Throws an AutomateError (`usage`) if the node's map cannot be written. */
export async function checkWrite(
  { flow, plan, step }: MapPlace,
  { write, send, curl }: Pick<TestRequestOptions, 'write' | 'send' | 'curl'>,
  terminal: Terminal,
): Promise<void> {
  if (curl || !send) throw usageError(`--write takes its paths from an answer: leave ${curl ? '--curl' : '--no-send'} out`);
  if (write === true && !terminal.findAsker?.()) {
    const advice = 'without a terminal, say what to write: --write all for every value, or --write PATH,PATH';
    throw invalidOption('write', `expected paths, found none\n${advice}`);
  }
  if (typeof write === 'string' && write !== 'all') pathsIn(write);
  const index = plan.steps.indexOf(step);
  const node = index < 0 ? undefined : nodeTexts(await readFile(flow, 'utf8'))[index];
  if (!node) throw usageError(`--write cannot change the map of "${step.id}", which is inside another node: edit the flow`);
  if (!node.map) throw usageError(`the map of "${step.id}" has more than fields and paths, which --write cannot change: edit the flow`);
}

/**
 * Uses names that the records do not have yet. `columns` are the fields of the input. The rest of the flow file does not change, except
 * that the comment goes that `init` writes in place of a map.
 */
export async function writeMap(
  place: MapPlace,
  preview: Preview,
  { write, columns }: { readonly write: string | true; readonly columns: readonly string[] },
  terminal: Terminal,
): Promise<void> {
  const { flow, plan, step, check } = place;
  const body = preview.unread ? undefined : preview.body;
  const { rows, more } = structureOf(body, write === true || write === 'all' ? undefined : Number.POSITIVE_INFINITY);
  if (rows.length === 0) throw usageError('the answer has no paths: nothing was written');
  if (write === 'all' && more > 0) {
    const message = `--write all adds at most ${rows.length} paths, and the answer has ${formatCount(rows.length + more)}`;
    throw usageError(`${message}\nname the paths that you need: --write PATH,PATH`);
  }
  const index = plan.steps.indexOf(step);
  const text = await readFile(flow, 'utf8');
  const before = nodeTexts(text)[index]?.map ?? {};
  const taken = new Set(columnsAfterAll(plan.steps.slice(0, index), columns));
  const map = withPaths(before, await chosenPaths(rows, body, { write, known: Object.values(before) }, terminal), taken);
  const added = Object.entries(map).slice(Object.keys(before).length);
  if (added.length === 0) return terminal.say(`the map of "${step.id}" in ${flow} has these paths already: nothing was written`);
  const changed = withMap(text.replace(`${mapComment}\n`, ''), index, map);
  await compileFlow(changed, flow, check);
  const { mode } = await stat(flow);
  await writeDurably(realFile(flow), changed, mode & 0o777);
  const lines = added.map(([field, path]) => {
    const name = lastName(path);
    return `\n  ${field}: ${path}${field !== name && taken.has(name) ? ` (the records already have a field "${name}")` : ''}`;
  });
  terminal.say(
    `${terminal.colors.green('wrote')} ${counted(added.length, 'field')} into the map of "${step.id}" in ${flow}${lines.join('')}`,
  );
}

async function chosenPaths(
  rows: readonly StructureRow[],
  body: Value | undefined,
  { write, known }: { readonly write: string | true; readonly known: readonly string[] },
  terminal: Terminal,
): Promise<readonly string[]> {
  if (write === 'all') return allPaths(rows);
  if (write === true) {
    const choices = rows
      .filter(({ path }) => !known.includes(path))
      .map((row) => ({ value: row.path, label: `${row.path}  ${row.sample}` }));
    return (await terminal.findAsker?.()?.several('paths for the map (space chooses, Enter writes them)', choices)) ?? [];
  }
  const paths = pathsIn(write);
  const all = rows.map(({ path }) => path);
  const missing = paths.find((path) => !all.includes(path) && !/^\$(?:status$|headers\.)/.test(path) && !isFound(path, body));
  if (missing === undefined) return paths;
  const found = didYouMean(missing, all) || ` (found: ${allPaths(rows.slice(0, 100)).slice(0, 10).join(', ')})`;
  throw usageError(`the answer has no "${missing}"${found}\nnothing was written`);
}

/** True if a map with this path would find a value in the body. The listed paths have no numbers of elements, as in `tags[0]`. */
function isFound(path: string, body: Value | undefined): boolean {
  const found: Found[] = [];
  const answer = { status: undefined, header: () => undefined, body };
  orUndefined(() => compileMapping([path], 'drop').apply(new Map(), answer, found));
  return found.some(Boolean);
}

/** Splits at commas; a comma in quotes belongs to its path. Throws an AutomateError (`usage`) if a path is not valid. */
function pathsIn(list: string): string[] {
  const paths = (list.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []).map((path) => path.trim()).filter((path) => path !== '');
  if (paths.length === 0) throw invalidOption('write', 'expected "all", or paths such as data.name,data.email');
  try {
    for (const path of paths) compilePath(path);
  } catch (error) {
    throw invalidOption('write', (error as Error).message);
  }
  return paths;
}

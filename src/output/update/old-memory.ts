import { createHash } from 'node:crypto';
import { AutomateError } from '../../core/failure.ts';
import { dataFilesOf, type Plan } from '../../core/plan.ts';
import type { RunOptions } from '../../core/run-options.ts';
import { envOf } from '../../files/env.ts';
import { realFile, statOf } from '../../files/stat.ts';
import type { OutputPlan } from '../output-plan.ts';
import { isRegularFile, refuseChangedWhole } from '../sink.ts';
import { memoryPath, readMemory } from './memory-file.ts';
import type { OldFiles } from './record-memory.ts';

/** Returns hashes of everything besides its fields that determines a record's rows, such as nodes and options. Messages show the keys. */
export function makersIn(plan: Plan, { env, set = [], csvSafe = false }: RunOptions): Readonly<Record<string, string>> {
  const dataFiles = dataFilesOf(plan).map((file) => [`the data file ${file}`, `${statOf(file)?.size} ${statOf(file)?.mtimeMs}`]);
  return Object.fromEntries([
    ...[...plan.makers].map(([id, written]) => [`the node ${id}`, makerHash(written)]),
    ...[...plan.variables.values].map(([name, value]) => [`the variable ${name}`, makerHash(value)]),
    ['the environment', makerHash(envOf(env))],
    ['the list of set fields', makerHash(JSON.stringify(set))],
    ['the way cells are made safe', String(csvSafe)],
    ...dataFiles,
  ]);
}

function makerHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * Finds the earlier output whose rows a run with `update` reuses. Returns undefined if there is none yet. Throws an AutomateError
 * (`output-exists`) if the output has no memory file, was changed, or was made with a different flow or different options.
 */
export async function findOldFiles(plan: Plan, options: RunOptions, { out, format }: OutputPlan): Promise<OldFiles | undefined> {
  if (!isRegularFile(out)) return undefined;
  const path = memoryPath(realFile(out));
  const memory = await readMemory(path);
  if (!memory) throw updateRefused(`${out} exists, but it is not known which records its rows belong to, because ${path} is missing`);
  try {
    await refuseChangedWhole(out, memory.out);
  } catch (error) {
    throw error instanceof AutomateError ? updateRefused(error.message) : error;
  }
  const makers = makersIn(plan, options);
  const changed = Object.keys({ ...memory.makers, ...makers }).filter((name) => memory.makers[name] !== makers[name]);
  if (memory.format.kind !== format.kind || memory.format.gzip !== format.gzip) changed.push('the format of the output');
  if (changed.length > 0) {
    const lines = changed.map((name) => `${name} ${wayOfChange(memory.makers[name], makers[name])}`);
    throw updateRefused(`the rows of ${out} cannot be reused, because they were made in a different way:\n${lines.join('\n')}`);
  }
  return { memory, out, maxAge: options.maxAge };
}

function wayOfChange(before: string | undefined, now: string | undefined): string {
  if (before === undefined && now !== undefined) return 'is new';
  return before !== undefined && now === undefined ? 'is gone' : 'has changed';
}

function updateRefused(message: string): AutomateError {
  return new AutomateError('output-exists', message, { code: 'update-refused', details: {} });
}

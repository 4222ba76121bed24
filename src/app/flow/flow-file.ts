import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { setEvaluationClock } from '../../core/condition/evaluation-time.ts';
import { limitLongEvaluations } from '../../core/condition/long-evaluation.ts';
import { loadPatternEngine } from '../../core/condition/pattern.ts';
import { durationText } from '../../core/duration.ts';
import { FlowError, type Problem } from '../../core/failure.ts';
import type { CategoryNames } from '../../core/lookups/category.ts';
import type { LimitOverrides } from '../../core/node.ts';
import { type CredentialUse, dataFilesOf, type Plan } from '../../core/plan.ts';
import { compile } from '../../flow/compile.ts';
import type { VariableChoice } from '../../flow/variables/variables.ts';
import { createClock } from '../../io/clock/clock.ts';
import { createTimeLimit } from '../../io/clock/time-limit.ts';
import { readConnections, type SavedConnections } from '../../io/connections.ts';
import { systemReason } from '../../io/files/naming-errors.ts';
import { utf8Length } from '../../io/records/readers/utf8.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { envOf } from '../env.ts';
import { columnsOf, type InputOptions } from '../input/input.ts';
import { dataFolder } from '../ports/late-lookups.ts';

/** Maximum for one expression and one record. Meanwhile nothing else happens, signals included. */
const maxEvaluationMs = 1000;

/** The values of variables that were given, in the order in which they were given. */
export type GivenVariables = readonly (readonly [name: string, value: string])[];

/** Options of the command line that a flow is compiled with. */
export interface FlowFileOptions extends LimitOverrides {
  /** The environment whose values its variables have; undefined for AUTOMATE_ENV. */
  readonly env?: string | undefined;
  /** Values of its variables that win over the file. */
  readonly var?: GivenVariables | undefined;
  /** The giver of `var`, if it may set only open variables; `later` if it will give them to another compilation. */
  readonly caller?: 'now' | 'later' | undefined;
  /** Takes the name of each value in `var` that the flow has no variable for. Undefined if that is an error. */
  readonly otherVariable?: ((name: string) => void) | undefined;
  readonly allowHttp: boolean;
  /** True if there is no folder for files, and none will be named. */
  readonly withoutFiles?: boolean;
  readonly textCells: boolean;
  readonly columns?: readonly string[] | undefined;
  /** The name of a flow that has none of its own; absent for that of its file. */
  readonly name?: string;
  /** The saved connections; undefined for those of this machine. */
  readonly saved?: SavedConnections | undefined;
  /** Receives the credentials of a flow that has other problems. */
  readonly credentials?: (uses: readonly CredentialUse[]) => void;
}

/** Reads and compiles a flow file. Throws a FlowError. */
export async function loadFlow(file: string, options: FlowFileOptions): Promise<Plan> {
  return compileFlow(await readFlowText(file), file, options);
}

/** Compiles the text of a flow file. Throws a FlowError. */
export async function compileFlow(text: string, file: string, options: FlowFileOptions): Promise<Plan> {
  await prepareExpressions(text);
  const { env, var: given, caller, saved, otherVariable, ...others } = options;
  const variables: VariableChoice = {
    given: new Map(given),
    env: () => envOf(env),
    onlyOpen: caller !== undefined,
    takesStandIns: caller === 'later',
    other: otherVariable,
  };
  const savedConnections = () => saved ?? readConnections(process.env);
  const compiled = (): Plan => ({
    ...compile(text, { file, nodeTypes, savedConnections, categories, variables, ...others }),
    origin: { file, text, options: { ...options, env: envOf(env), credentials: undefined, otherVariable: undefined } },
  });
  try {
    return compiled();
  } catch (error) {
    if (error !== categoriesWanted) throw error;
  }
  const { loadCategoryNames } = await import('../../io/lookups/categories/category-names.ts');
  categories = loadCategoryNames(dataFolder);
  return compiled();
}

/** Thrown out of a compilation by the first node that names a category. */
const categoriesWanted = new Error('a node names a category');

/** Finds the categories that flows name. Most flows name none: its code is loaded for the first that does. */
let categories: CategoryNames = () => {
  throw categoriesWanted;
};

/**
 * Reads and compiles a flow file before the input is read. For a flow with problems, the FlowError includes wrong references to the
 * columns of the input. `added`: further fields of every record.
 */
export async function loadFlowFor(
  input: InputOptions,
  file: string,
  options: FlowFileOptions,
  added: readonly string[] = [],
): Promise<Plan> {
  try {
    return await loadFlow(file, options);
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    // The problems of a flow must not wait for a stream.
    const { columns } = input.noInput ? { columns: [] } : input.in === '-' ? {} : await columnsOf(input);
    if (columns) await loadFlow(file, { ...options, columns: [...columns, ...added] });
    throw error;
  }
}

/** Sets the limits and the clock of expressions. Loads the engine of patterns for a flow that could need it: a backslash may hide any word. */
async function prepareExpressions(text: string): Promise<void> {
  setEvaluationClock(createClock().wallNow);
  limitLongEvaluations(createTimeLimit(maxEvaluationMs, `the expression takes more than ${durationText(maxEvaluationMs)} for this record`));
  if (/matches|regex|\\/.test(text)) await loadPatternEngine();
}

/** Throws a FlowError if a reference names a field that no record can have. */
export function checkFields(plan: Plan, file: string, columns: readonly string[]): void {
  const problems = plan.unknownFields(columns);
  if (problems.length > 0) throw new FlowError(file, problems);
}

/** Throws a FlowError if the file cannot be read or is not UTF-8. */
async function readFlowText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.code === 'EISDIR' ? 'it is a folder' : systemReason(error);
    throw new FlowError(file, [{ message: `the flow file cannot be read: ${reason}` }]);
  });
  const problem = encodingProblem(bytes);
  if (problem) throw new FlowError(file, [problem]);
  return bytes.toString();
}

/** Does not show the line: it cannot be searched for secrets. */
function encodingProblem(bytes: Buffer): Problem | undefined {
  if (isUtf16(bytes)) return { line: 1, column: 1, message: 'expected UTF-8, found UTF-16\nsave the flow file as UTF-8' };
  if (isUtf8(bytes)) return undefined;
  const length = utf8Length(bytes);
  const lines = bytes.toString('utf8', 0, length).split('\n');
  const hex = (bytes[length] as number).toString(16).toUpperCase();
  const message = `expected UTF-8, found the byte 0x${hex}\nsave the flow file as UTF-8`;
  return { line: lines.length, column: (lines.at(-1) as string).length + 1, message };
}

/** Detects UTF-16 by its byte order mark, or by the zero byte of an ASCII character. */
function isUtf16([first, second]: Buffer): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || (first === 0) !== (second === 0);
}

/** Reads the files in which the plan looks things up; the run then has them in memory. Throws an AutomateError (`input`). */
export async function readDataFiles(plan: Plan): Promise<void> {
  const files = dataFilesOf(plan);
  if (files.length === 0) return;
  const { pointsOfFile } = await import('../../io/lookups/points/points.ts');
  for (const file of files) await pointsOfFile(file);
}

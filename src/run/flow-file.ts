import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import vm from 'node:vm';
import { setEvaluationClock } from '../core/condition/evaluation-time.ts';
import { limitLongEvaluations } from '../core/condition/long-evaluation.ts';
import { loadPatternEngine } from '../core/condition/pattern.ts';
import { durationText } from '../core/duration.ts';
import { FlowError, type Problem } from '../core/failure.ts';
import type { LimitOverrides } from '../core/node.ts';
import { type CredentialUse, dataFilesOf, type Plan } from '../core/plan.ts';
import type { GivenVariables, InputOptions } from '../core/run-options.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { readConnections, type SavedConnections } from '../credentials/connections-file.ts';
import { createClock } from '../files/clock.ts';
import { similarFile } from '../files/folder.ts';
import { envOf } from '../files/home.ts';
import { systemReason } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { compile, withData } from '../flow/compile.ts';
import type { VariableChoice } from '../flow/variables.ts';
import { dataFolder } from '../places/late-lookups.ts';
import { columnsOf } from '../records/inputs.ts';
import { utf8Length } from '../records/utf8.ts';
import { nodeTypes } from './node-types.ts';

/**
 * Time limit in ms for evaluating one expression for one record. Without a limit, a long evaluation would block everything, even signal
 * handlers, so that Ctrl+C would not work.
 */
const maxEvaluationMs = 1000;

/** The command-line options with which a flow is compiled. */
export interface FlowFileOptions extends LimitOverrides {
  /** The environment that provides the values of variables; undefined to use the one in AUTOMATE_ENV. */
  readonly env?: string | undefined;
  /** Values of variables, which override the values in the flow file. */
  readonly var?: GivenVariables | undefined;
  /**
   * Set if the values in `var` come from a caller, who may set only variables marked as open. With `later`, the caller's values are not
   * known yet, and the flow will be compiled once more when they are.
   */
  readonly caller?: 'now' | 'later' | undefined;
  /** Receives the name of each value in `var` that matches no variable of the flow. If undefined, such a value is an error. */
  readonly otherVariable?: ((name: string) => void) | undefined;
  readonly allowHttp: boolean;
  /** True if there is no folder for the files that a flow sends or saves, and will be none later. */
  readonly withoutFiles?: boolean;
  readonly textCells: boolean;
  readonly columns?: readonly string[] | undefined;
  /** The name of a flow whose file has no `name` key; undefined to use the file's name. */
  readonly name?: string | undefined;
  /** The saved connections that the flow may use; undefined to use those saved on this machine. */
  readonly saved?: SavedConnections | undefined;
  /** Receives the credentials that the flow uses, even if the flow has problems elsewhere. */
  readonly credentials?: (uses: readonly CredentialUse[]) => void;
}

/** Reads and compiles a flow file. Throws a FlowError if it cannot be read or is not valid. */
export async function loadFlow(file: string, options: FlowFileOptions): Promise<Plan> {
  return compileFlow(await readFlowText(file, 'flow file'), file, options);
}

/** Compiles the text of a flow file. Throws a FlowError if the flow is not valid. */
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
    ...compile(text, { file, nodeTypes, savedConnections, variables, ...others }),
    origin: { file, text, options: { ...options, env: envOf(env), credentials: undefined, otherVariable: undefined } },
  });
  return withData(dataFolder, compiled);
}

/**
 * Reads and compiles a flow file before the input is read. If the flow has problems, the FlowError also lists references to columns that
 * are not in the input. `added` lists fields that every record has besides the input's columns.
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
    // Does not read stdin, because its first data might arrive late, and the flow's problems must be reported at once.
    const { columns } = input.noInput ? { columns: [] } : input.in === '-' ? {} : await columnsOf(input);
    if (columns) await loadFlow(file, { ...options, columns: [...columns, ...added] });
    throw error;
  }
}

/**
 * Sets the time limit and the clock for expressions. Loads the engine for regular expressions if the flow might need it. Any backslash in
 * the flow is a reason to load it, because an escape sequence can hide a function's name.
 */
async function prepareExpressions(text: string): Promise<void> {
  setEvaluationClock(createClock().wallNow);
  limitLongEvaluations(createTimeLimit(maxEvaluationMs, `the expression takes more than ${durationText(maxEvaluationMs)} for this record`));
  if (/matches|regex|\\/.test(text)) await loadPatternEngine();
}

/** Throws a FlowError if the flow refers to a field that no record can have. `columns` are the columns of the input. */
export function checkFields(plan: Plan, file: string, columns: readonly string[]): void {
  const problems = plan.unknownFields(columns);
  if (problems.length > 0) throw new FlowError(file, problems);
}

/** Returns the text of a file. `kind` is the kind of file, for messages. Throws a FlowError if the file cannot be read or is not UTF-8. */
export async function readFlowText(file: string, kind: string): Promise<string> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new FlowError(file, [{ message: `the ${kind} cannot be read: ${missingReason(file, error)}` }]);
  });
  const problem = encodingProblem(bytes, kind);
  if (problem) throw new FlowError(file, [problem]);
  return bytes.toString();
}

/** Returns why a flow file cannot be read, with the path that was probably meant. */
function missingReason(file: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return `there is no such file${similarFile(file)}`;
  if (error.code !== 'EISDIR') return systemReason(error);
  const inside = join(file, 'flow.yaml');
  return `it is a folder${statOf(inside) ? didYouMean(inside, [inside]) : ''}`;
}

/** Returns the problem of a flow file that is not UTF-8. The message does not quote the line, because secrets in it could not be masked. */
function encodingProblem(bytes: Buffer, kind: string): Problem | undefined {
  if (isUtf16(bytes)) return { line: 1, column: 1, message: `expected UTF-8, found UTF-16\nsave the ${kind} as UTF-8` };
  if (isUtf8(bytes)) return undefined;
  const length = utf8Length(bytes);
  const lines = bytes.toString('utf8', 0, length).split('\n');
  const hex = (bytes[length] as number).toString(16).toUpperCase();
  const message = `expected UTF-8, found the byte 0x${hex}\nsave the ${kind} as UTF-8`;
  return { line: lines.length, column: (lines.at(-1) as string).length + 1, message };
}

/** Detects UTF-16 by its byte order mark, or by the zero byte of an ASCII character. */
function isUtf16([first, second]: Buffer): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || (first === 0) !== (second === 0);
}

/**
 * Reads the data files that lookup nodes use. The data then stays in memory for the run. Throws an AutomateError (`input`) if a file cannot
 * be read.
 */
export async function readDataFiles(plan: Plan): Promise<void> {
  const files = dataFilesOf(plan);
  if (files.length === 0) return;
  const { pointsOfFile } = await import('../places/data/points-data.ts');
  for (const file of files) await pointsOfFile(file);
}

/** A script that only calls the function whose duration is limited. Node can limit the duration of a script, but not of a function call. */
const script = new vm.Script('work()');

/**
 * Returns a function that runs synchronous work with a time limit. If the work takes longer, it is aborted with an Error that has this
 * `message`. Each use costs 0.1 ms, because a separate thread watches the time.
 */
export function createTimeLimit(maxMs: number, message: string): <Result>(limited: () => Result) => Result {
  let context: { work?: () => unknown } | undefined;
  return <Result>(limited: () => Result) => {
    context ??= vm.createContext({});
    context.work = limited;
    try {
      return script.runInContext(context, { timeout: maxMs }) as Result;
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new Error(message) : error;
    }
  };
}

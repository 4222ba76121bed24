import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { loadExpressionLibrary } from '../core/condition/cel.ts';
import { loadDates } from '../core/condition/dates.ts';
import { giveHash } from '../core/condition/hashes.ts';
import { loadPatternEngine } from '../core/condition/pattern.ts';
import { FlowError, type Problem } from '../core/failure.ts';
import { type BuildContext, DataNeeded, type JoinedFile, type LimitOverrides, type SharedRows } from '../core/node.ts';
import { type CredentialUse, dataFilesOf, joinedFilesOf, type Plan } from '../core/plan.ts';
import type { GivenVariables, InputOptions } from '../core/run-options.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { orUndefined } from '../core/value/value.ts';
import { readConnections, type SavedConnections } from '../credentials/connections-file.ts';
import { similarFile } from '../files/folder.ts';
import { envOf } from '../files/home.ts';
import { systemReason } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import type { CompileOptions } from '../flow/compilation.ts';
import { compile, withData } from '../flow/compile.ts';
import type { VariableChoice } from '../flow/variables.ts';
import { dataFolder } from '../places/late-lookups.ts';
import { columnsOf } from '../records/inputs.ts';
import { utf8Length } from '../records/utf8.ts';
import { loadNodeTypesIn, nodeTypes } from './node-types.ts';

/** The command-line options with which a flow is compiled. */
export interface FlowFileOptions extends LimitOverrides {
  /** Undefined to use the environment in AUTOMATE_ENV. */
  readonly env?: string;
  /** Overrides the values in the flow file. */
  readonly var?: GivenVariables;
  /** Set if `var` comes from a caller, who may set only open variables. With `later`, the flow is compiled again once they are known. */
  readonly caller?: 'now' | 'later';
  /** Receives each name in `var` that matches no variable of the flow. If undefined, such a name is an error. */
  readonly otherVariable?: (name: string) => void;
  readonly allowHttp: boolean;
  /** True if there is no folder for files that a flow sends or saves, and will be none later. */
  readonly withoutFiles?: boolean;
  readonly textCells: boolean;
  readonly mayBeCells?: boolean;
  readonly columns?: readonly string[];
  readonly added?: readonly string[];
  /** The name if the file has no `name` key; undefined to use the file's name. */
  readonly name?: string;
  /** Undefined to use the connections saved on this machine. */
  readonly saved?: SavedConnections;
  /** The texts of the files that belong to the flow, by their paths; undefined to read them beside the flow. */
  readonly files?: Readonly<Record<string, string>>;
  /** The rows of joined files, by the ids of the nodes; undefined to read the files beside the flow. */
  readonly sharedRows?: Readonly<Record<string, SharedRows>>;
  /** Called with the path of each file that is read beside the flow, even if it cannot be read. */
  readonly reads?: (path: string) => void;
  /** Called even if the flow has problems elsewhere. */
  readonly credentials?: (uses: readonly CredentialUse[]) => void;
}

/** Reads and compiles a flow file. Throws a FlowError if it cannot be read or is not valid. */
export async function loadFlow(file: string, options: FlowFileOptions): Promise<Plan> {
  return compileFlow(await readFlowText(file, 'flow file'), file, options);
}

/** Compiles the text of a flow file. Throws a FlowError if the flow is not valid. */
export async function compileFlow(text: string, file: string, options: FlowFileOptions): Promise<Plan> {
  const { env, var: given, caller, saved, files, otherVariable, reads, ...others } = options;
  const savedConnections = () => saved ?? readConnections(process.env);
  await loadLibraries(text);
  // Without the file of connections, a flow that uses a saved one is not valid, which is found later.
  if (/connection|\\/.test(text)) await loadLibraries(JSON.stringify(orUndefined(savedConnections) ?? {}));
  await loadNodeTypesIn(text);
  const variables: VariableChoice = {
    given: new Map(given),
    env: () => envOf(env),
    onlyOpen: caller !== undefined,
    takesStandIns: caller === 'later',
    other: otherVariable,
  };
  const pathBeside = (path: string) => {
    const full = resolve(dirname(file), path);
    reads?.(full);
    // The path is for messages, in which a short one is easier to read.
    return isAbsolute(path) ? path : join(dirname(file), path);
  };
  const fileText = filesBeside(pathBeside, files);
  const readBeside = readerBeside(pathBeside);
  const compiled = (): Plan => ({
    ...compile(text, { file, nodeTypes, savedConnections, variables, fileText, readBeside, ...others }),
    origin: { file, text, options: { ...options, env: envOf(env), credentials: undefined, otherVariable: undefined, reads: undefined } },
  });
  return withData(dataFolder, compiled);
}

/** Returns the path of a file that a flow names. */
type PathBeside = (path: string) => string;

type FileText = ReturnType<NonNullable<CompileOptions['fileText']>>;

/** Reads each file once. `given` are texts that replace the files. */
function filesBeside(pathBeside: PathBeside, given: Readonly<Record<string, string>> | undefined): (path: string) => FileText {
  const read = new Map<string, FileText>(Object.entries(given ?? {}).map(([path, text]) => [path, { text }]));
  return (path) => {
    const found = read.get(path);
    if (found) return found;
    if (given) return { problem: 'it was not sent with the flow' };
    throw new DataNeeded(async () => void read.set(path, await readTextBeside(resolve(pathBeside(path)))));
  };
}

/** Each key is read once. */
function readerBeside(pathBeside: PathBeside): BuildContext['readBeside'] {
  const found = new Map<string, unknown>();
  return <Result>(path: string, key: string, read: (file: string) => Promise<Result>) => {
    if (found.has(key)) return found.get(key) as Result;
    throw new DataNeeded(async () => void found.set(key, await read(pathBeside(path))));
  };
}

async function readTextBeside(file: string): Promise<FileText> {
  try {
    return { text: await readFile(file, 'utf8') };
  } catch (error) {
    return { problem: missingReason(file, error as NodeJS.ErrnoException) };
  }
}

/** Loads what the expressions in a flow or a connection need. */
export async function loadLibraries(text: string): Promise<void> {
  // A backslash can hide the name of a function that needs the engine.
  if (/matches|regex|\\/.test(text)) await loadPatternEngine();
  if (hasExpressions(text)) await loadExpressionLibrary();
  if (mayUseDates(text)) await loadDates();
}

/** False only for a flow without expressions. A backslash can hide the name of an option. @internal */
export function hasExpressions(text: string): boolean {
  return /cel|when|where|while|until|rules|expect|after|\\/.test(text);
}

/** A backslash can hide letters, and a line break in a string of YAML. */
function mayUseDates(text: string): boolean {
  return /\bdate[\s\\]*\.[\s\\]*(?:parse|format)|\\[xuU]/.test(text);
}

giveHash((algorithm, of) => createHash(algorithm).update(of).digest('hex'));

/** The FlowError of an invalid flow also lists unknown columns. `added` lists fields that every record has besides the columns. */
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
    if (columns) await loadFlow(file, { ...options, columns, added });
    throw error;
  }
}

/** Throws a FlowError if the flow refers to a field that no record can have. `columns` are the columns of the input. */
export function checkFields(plan: Plan, file: string, columns: readonly string[]): void {
  const problems = plan.unknownFields(columns);
  if (problems.length > 0) throw new FlowError(file, problems);
}

/** Throws a FlowError if the flow does not fit a table with these columns, which have their own names. */
export function checkHeader(plan: Plan, file: string, header: readonly string[]): void {
  const problems = plan.headerProblems(header);
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

/** Includes the path that was probably meant. */
function missingReason(file: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return `there is no such file${similarFile(file)}`;
  if (error.code !== 'EISDIR') return systemReason(error);
  const inside = join(file, 'flow.yaml');
  return `it is a folder${statOf(inside) ? didYouMean(inside, [inside]) : ''}`;
}

/** The message does not quote the line, because secrets in it could not be masked. */
function encodingProblem(bytes: Buffer, kind: string): Problem | undefined {
  if (isUtf16(bytes)) return { line: 1, column: 1, message: `expected UTF-8, found UTF-16\nsave the ${kind} as UTF-8` };
  if (isUtf8(bytes)) return undefined;
  const length = utf8Length(bytes);
  const lines = bytes.toString('utf8', 0, length).split('\n');
  const hex = (bytes[length] as number).toString(16).toUpperCase();
  const message = `expected UTF-8, found the byte 0x${hex}\nsave the ${kind} as UTF-8`;
  return { line: lines.length, column: (lines.at(-1) as string).length + 1, message };
}

/** Looks for a byte order mark, or for the zero byte of an ASCII character. */
function isUtf16([first, second]: Buffer): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || (first === 0) !== (second === 0);
}

/**
 * Reads the data files and joined files of a flow before its first record. `shared`: other processes will read the rows of joined files, too.
 * Throws an AutomateError (`input`) if a file cannot be read. The returned function releases the rows.
 */
export async function readDataFiles(plan: Plan, { shared = false } = {}): Promise<() => void> {
  const files = dataFilesOf(plan);
  if (files.length > 0) {
    const { pointsOfFile } = await import('../places/data/points-data.ts');
    for (const file of files) await pointsOfFile(file);
  }
  const opened: JoinedFile[] = [];
  const close = () => {
    for (const joined of opened.splice(0)) joined.close();
  };
  try {
    for (const joined of joinedFilesOf(plan)) {
      await joined.open({ shared });
      opened.push(joined);
    }
    return close;
  } catch (error) {
    close();
    throw error;
  }
}

import { FlowError, type Problem } from '../core/failure.ts';
import { DataNeeded } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { isMapping } from '../core/value/value.ts';
import { columnNamesOf, doubledColumns, misfitNames, withNames } from './column-names.ts';
import { type Compilation, type CompileOptions, listOf, mappingOf, type PlacedStep } from './compilation.ts';
import { compileSteps } from './compile-step.ts';
import { compileConnections } from './connections.ts';
import { checkedBy } from './issues.ts';
import { withUnreferableColumns } from './near-references.ts';
import { credentialsOf, inOrder, planOf } from './plan.ts';
import { flowSchema } from './schema.ts';
import { type FlowSource, readSource } from './source.ts';
import { removedFieldsIn, unknownFieldsIn, unknownSerialFields } from './unknown-fields.ts';

/** Throws a FlowError that lists all problems if the flow has any. */
export function compile(text: string, options: CompileOptions): Plan {
  const source = readFlow(text, options);
  const problems = [...source.problems];
  // Compiles the nodes even if there is a mistake at the top of the file, so that their problems are reported, too.
  const written = mappingOf(source.value);
  const flow = checkedBy(flowSchema, source.value, { source, at: [], problems });
  const {
    connections = mappingOf(written.connections),
    nodes = listOf(written.nodes),
    allow_hosts: allowHosts = [],
    serial_by: serialBy,
  } = flow ?? {};
  const name = flow?.name ?? options.name ?? baseName(options.file);
  const base = { source, problems, warnings: [...source.warnings], allowHttp: options.allowHttp };
  const names = columnNamesOf(flow?.columns ?? {}, source, problems);
  const compilation: Compilation = {
    ...options,
    ...base,
    name,
    names,
    connections: compileConnections(connections, { ...base, isSaved: false, file: options.file }),
    saved: new Map(),
    files: new Map(),
    ids: new Set(),
    missing: new Set(),
    certificates: new Map(),
    allowHosts,
    literalOrigins: new Set(),
    typedFields: new Set(),
    answeredFields: new Map(),
    madeFields: new Set(),
    passed: [],
    carried: [],
  };
  const steps = compileSteps(nodes, { at: [] }, compilation);
  const valid = steps.filter((step) => step !== undefined);
  const columns = checkColumns({ steps, source, names, serialBy, problems }, options);
  problems.push(...doubledColumns(names, valid, source));
  const found = withUnreferableColumns(problems, { source, steps, names, columns });
  if (found.length > 0) {
    options.credentials?.(credentialsOf(valid, source));
    const kind = found.every((problem) => compilation.missing.has(problem)) ? 'credential' : 'flow';
    throw new FlowError(options.file, inOrder(found), kind);
  }
  if (compilation.literalOrigins.size === 0) compilation.warnings.push(...unsentCredentials(valid, source));
  return planOf({ name, names, description: flow?.description, serialBy }, valid, compilation);
}

/** Throws a FlowError if the text is no flow at all. */
function readFlow(text: string, { file, variables = {} }: CompileOptions): FlowSource {
  const source = readSource(text, variables);
  const { value, problems } = source;
  if (value === null)
    throw new FlowError(file, inOrder([...problems, source.at([], 'expected a flow with a list of nodes, found an empty file')]));
  if (value === undefined) throw new FlowError(file, inOrder(problems));
  if (isTestFile(value)) throw new FlowError(file, [source.at([], testFileMessage(file, value))]);
  return source;
}

/** Returns the columns of the input under the names that the flow gives them; undefined if they are not known. */
function checkColumns(
  {
    serialBy,
    problems,
    ...flow
  }: Parameters<typeof unknownFieldsIn>[0] & Parameters<typeof unknownSerialFields>[0] & { problems: Problem[] },
  { columns: own, added = [] }: CompileOptions,
): readonly string[] | undefined {
  const { names, source } = flow;
  if (!own) {
    problems.push(...removedFieldsIn(flow));
    return undefined;
  }
  const header = [...own, ...added.map((name) => names.inFile(name))];
  const columns = withNames(names, header);
  problems.push(...misfitNames(names, header, source), ...unknownFieldsIn(flow, columns));
  problems.push(...unknownSerialFields({ serialBy, source, names }, columns));
  return columns;
}

/** Warns if the flow's URLs contain no literal origin: its credentials are then never sent. */
function unsentCredentials(steps: readonly PlacedStep[], source: FlowSource): Problem[] {
  const message =
    'this credential is never sent: it goes only to hosts that are written in the flow, and here the host comes from the record\nput a / after the host, or set the base_url of a connection';
  return (allSteps(steps) as PlacedStep[]).flatMap(({ at, node: { action } }) =>
    action && !action.tool ? action.credentials.map((use) => source.at([...at, ...use.at], message)) : [],
  );
}

function isTestFile(value: unknown): value is Record<string, unknown> {
  return isMapping(value) && Array.isArray(value.tests) && !Object.hasOwn(value, 'nodes');
}

function testFileMessage(file: string, { flow }: Readonly<Record<string, unknown>>): string {
  const own = typeof flow === 'string' ? `, and its flow is ${flow}` : '';
  return `expected a flow, found a file of tests${own}\nrun its tests: automate test ${shellWord(file)}`;
}

function baseName(file: string): string {
  return (file.split(/[\\/]/).at(-1) as string).replace(/\.ya?ml$/i, '');
}

/** If a node needs its code, or data from `folder`, that is not in memory yet, loads it and compiles again. */
export async function withData(folder: string, compiled: () => Plan): Promise<Plan> {
  for (;;) {
    try {
      return compiled();
    } catch (error) {
      if (!(error instanceof DataNeeded)) throw error;
      await error.load(folder);
    }
  }
}

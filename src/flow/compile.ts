import type { Expression } from '../core/condition/condition.ts';
import type { Connection } from '../core/connection.ts';
import { FlowError, type Problem } from '../core/failure.ts';
import type { BuildContext, LimitOverrides, Node, NodeType, OnError } from '../core/node.ts';
import { allSteps, type CredentialUse, type Plan, type Warning } from '../core/plan.ts';
import { didYouMean, nearest } from '../core/text/suggest.ts';
import { compileConnections } from './connections.ts';
import { credentialsOf, inOrder, lostFieldsIn, type PlacedStep, planOf, unknownFieldsIn } from './plan.ts';
import { checked, type Place } from './problems/issues.ts';
import { nearReferenceWarnings } from './problems/near-references.ts';
import { compileSavedConnection } from './saved-connection.ts';
import { flowSchema, nodeSchema } from './schema.ts';
import { type At, readSource, type Source } from './source.ts';

/** What the command line adds to a flow. */
export interface CompileOptions extends LimitOverrides {
  /** The flow's file, for messages and as its name. */
  readonly file: string;
  readonly nodeTypes: readonly NodeType[];
  readonly allowHttp: boolean;
  /** Whether the records' fields are all texts, as in CSV. */
  readonly textCells: boolean;
  /** The connections that are saved, by name; none unless said otherwise. Asked for when a node names one that the flow does not have. */
  readonly savedConnections?: () => Readonly<Record<string, object>>;
  /** Takes the credentials that a flow names which is not valid elsewhere. */
  readonly credentials?: ((uses: readonly CredentialUse[]) => void) | undefined;
  /** The input's columns: then references that no record can satisfy are problems, too. */
  readonly columns?: readonly string[] | undefined;
}

/** What a compilation gathers on its way. */
interface Compilation extends CompileOptions {
  readonly source: Source;
  readonly problems: Problem[];
  readonly warnings: Warning[];
  /** The flow's own, and those that are saved as nodes name them. */
  readonly connections: Map<string, Connection | undefined>;
  /** The saved connections that the flow uses, as they were written. */
  readonly saved: Map<string, object>;
  /** The ids of the nodes so far. */
  readonly ids: Set<string>;
  /** Problems with connections that are not there. */
  readonly missing: Set<Problem>;
  readonly allowHosts: readonly string[];
  readonly literalOrigins: Set<string>;
  /** The fields that the nodes so far add from answers and expressions: no cells of the input. */
  readonly typedFields: Set<string>;
  /** All the fields that the nodes so far add. */
  readonly madeFields: Set<string>;
  /** The nodes so far that all records pass. */
  readonly passed: Node[];
  /** What passes of the nodes around begin with but for the first, where it is a cell only if the input has such a column. */
  readonly carried: readonly string[];
}

/** Turns a flow's text into a plan. Throws a FlowError with every problem of the file. */
export function compile(text: string, options: CompileOptions): Plan {
  const source = readSource(text);
  const problems = [...source.problems];
  if (source.value === null) problems.push(source.at([], 'expected a flow with a list of nodes, found an empty file'));
  if (source.value === undefined || source.value === null) throw new FlowError(options.file, inOrder(problems));
  // A broken head does not hide what is wrong in the nodes.
  const written = mappingOf(source.value);
  const flow = checked(flowSchema, source.value, { source, at: [], problems });
  const { connections = mappingOf(written.connections), nodes = listOf(written.nodes), allow_hosts: allowHosts = [] } = flow ?? {};
  const where = { source, problems, warnings: nearReferenceWarnings(source), allowHttp: options.allowHttp };
  const compilation: Compilation = {
    ...options,
    ...where,
    connections: compileConnections(connections, where),
    saved: new Map(),
    ids: new Set(),
    missing: new Set(),
    allowHosts,
    literalOrigins: new Set(),
    typedFields: new Set(),
    madeFields: new Set(),
    passed: [],
    carried: [],
  };
  const steps = nodes.map((node, index) => compileStep(node, [], index, compilation));
  problems.push(...(options.columns ? unknownFieldsIn(steps, options.columns, source) : lostFieldsIn(steps, source)));
  if (problems.length > 0) {
    options.credentials?.(
      credentialsOf(
        steps.filter((step) => step !== undefined),
        source,
      ),
    );
    const kind = problems.every((problem) => compilation.missing.has(problem)) ? 'credential' : 'flow';
    throw new FlowError(options.file, inOrder(problems), kind);
  }
  if (compilation.literalOrigins.size === 0) compilation.warnings.push(...unsentCredentials(steps as PlacedStep[], source));
  return planOf(flow?.name ?? nameOf(options.file), steps as PlacedStep[], compilation);
}

/** Where a flow names no origin literally, no request gets its credential. */
function unsentCredentials(steps: readonly PlacedStep[], source: Source): Problem[] {
  const message =
    'this credential is never sent: only an origin that stands in the flow gets it, and none does\nput a / behind the host, or the address into the base_url of a connection';
  return (allSteps(steps) as PlacedStep[]).flatMap(({ at, node: { action } }) =>
    action && !action.tool ? action.credentials.map((use) => source.at([...at, ...use.at], message)) : [],
  );
}

function mappingOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function nameOf(file: string): string {
  return (file.split(/[\\/]/).at(-1) as string).replace(/\.ya?ml$/i, '');
}

interface StepOptions {
  readonly id?: string;
  readonly when: Expression<boolean> | undefined;
  readonly on_error: OnError;
}

/** `outer`: where the node stands that holds it; nothing for a node of the flow itself. */
function compileStep(written: unknown, outer: At, index: number, compilation: Compilation, outerId?: string): PlacedStep | undefined {
  const at = [...outer, 'nodes', index];
  const type = nodeTypeOf(written, at, compilation);
  const wrong = new Set<PropertyKey>();
  const options = type && optionsOf(type, written, { ...compilation, at, wrong });
  if (!type || !options) {
    // A broken node does not hide what is wrong in those inside it.
    const hasInner = !type || 'nodes' in type.options.shape;
    if (hasInner) compileInner(listOf(mappingOf(written).nodes), at, compilation, defaultId(type?.name ?? 'node', index, outerId));
    return undefined;
  }
  const id = options.id ?? defaultId(type.name, index, outerId);
  refuseDouble(id, at, compilation);
  const context = buildContext(id, at, wrong, compilation);
  if (options.when) context.warnOfCells(['when'], options.when);
  const node = type.build(options as never, context);
  for (const field of node?.columns([]) ?? []) {
    compilation.madeFields.add(field);
    compilation.typedFields.delete(field);
  }
  for (const field of node?.typedFields ?? []) compilation.typedFields.add(field);
  if (node && !options.when) compilation.passed.push(node);
  // Where nobody knows whether a record may pass it by, it may: else fields would be missed behind it.
  const onError = wrong.has('when') || wrong.has('on_error') ? 'keep' : options.on_error;
  return node && { id, type: type.name, node, when: options.when, onError, at, wrong };
}

function optionsOf(type: NodeType, written: unknown, place: Place): StepOptions | undefined {
  return checked(nodeSchema(type), { ...mappingOf(written), type: type.name }, place) as StepOptions | undefined;
}

function compileInner(written: readonly unknown[], at: At, compilation: Compilation, outerId: string): (PlacedStep | undefined)[] {
  return written.map((node, index) => compileStep(node, at, index, compilation, outerId));
}

function defaultId(type: string, index: number, outerId: string | undefined): string {
  return `${outerId === undefined ? '' : `${outerId}.`}${type}-${index + 1}`;
}

function refuseDouble(id: string, at: At, { ids, source, problems }: Compilation): void {
  if (ids.has(id)) problems.push(source.at([...at, 'id'], `two nodes have the id "${id}"`));
  ids.add(id);
}

function nodeTypeOf(written: unknown, at: At, { source, problems, nodeTypes }: Compilation): NodeType | undefined {
  const { type } = mappingOf(written);
  const found = nodeTypes.find(({ name }) => name === type);
  if (found) return found;
  const names = nodeTypes.map(({ name }) => name);
  const expected = `expected ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
  if (typeof type === 'string') {
    problems.push(source.at([...at, 'type'], `no node type "${type}"${didYouMean(type, names) || `; ${expected}`}`));
    return undefined;
  }
  const misspelt = Object.keys(mappingOf(written)).find((key) => nearest(key, ['type']) !== undefined && key !== 'type');
  if (misspelt === undefined) problems.push(source.at(at, `a node needs a type; ${expected}`));
  else problems.push(source.atName([...at, misspelt], `unknown key "${misspelt}"; did you mean "type"?`));
  return undefined;
}

function buildContext(id: string, at: At, wrong: Set<PropertyKey>, compilation: Compilation): BuildContext {
  const { source, problems, warnings, allowHttp, allowHosts, literalOrigins, textCells, typedFields, madeFields, carried, passed } =
    compilation;
  let typedBefore = new Set(typedFields);
  const isCell = (field: string) => textCells && !typedBefore.has(field);
  return {
    id,
    overrides: compilation,
    allowHttp,
    allowHosts,
    literalOrigins,
    isCell,
    inner(written, more = []) {
      const steps = compileInner(written, at, { ...compilation, carried: [...carried, ...more] }, id);
      // What its conditions read comes from these.
      typedBefore = new Set(typedFields);
      return steps.every((step) => step !== undefined) ? (steps as PlacedStep[]) : undefined;
    },
    connection: (name) => connectionOfType('http', name, [...at, 'connection'], compilation),
    mcpConnection: (name) => connectionOfType('mcp', name, [...at, 'connection'], compilation),
    problem(place, message) {
      if (place[0] !== undefined) wrong.add(place[0]);
      problems.push(source.at([...at, ...place], message));
    },
    warn: (place, message) => warnings.push(source.at([...at, ...place], message)),
    warnOfCells(place, { besideNumbers }, nameBefore = (field) => field) {
      for (const { field, offset, fails } of besideNumbers) {
        const name = nameBefore(field);
        const isMade = madeFields.has(name);
        if (!isCell(name) || !(isMade || passed.every((node) => node.columns([name]).includes(name)))) continue;
        const what = fails ? 'a CSV cell is a text: with a number this fails' : 'a CSV cell is a text and never equals a number';
        const problem = source.at([...at, ...place], `${what}\nconvert it: int(${field}) or double(${field})`, offset);
        warnings.push(isMade ? problem : { ...problem, cell: name, isCarried: carried.includes(name) });
      }
    },
  };
}

/** The connection of that name. Absent, with the problem reported, when there is none, or it is of another type. */
function connectionOfType<Type extends Connection['type']>(
  type: Type,
  name: string,
  at: At,
  compilation: Compilation,
): Extract<Connection, { type: Type }> | undefined {
  const connection = connectionOf(name, at, compilation, type);
  if (connection && connection.type !== type) {
    const message = `expected a connection of type ${type}, found "${name}", which is of type ${connection.type}`;
    compilation.problems.push(compilation.source.at(at, `${message}\nnodes of type ${connection.type} use it`));
    return undefined;
  }
  return connection as Extract<Connection, { type: Type }> | undefined;
}

const addExamples = { http: '--base-url URL', mcp: '--url URL' };

/** The flow's own connection of that name, else the saved one. `type`: of which one was expected. */
function connectionOf(name: string, at: At, compilation: Compilation, type: Connection['type']): Connection | undefined {
  const { connections, source, problems, missing, allowHttp, saved } = compilation;
  if (connections.has(name)) return connections.get(name);
  const found = compilation.savedConnections?.() ?? {};
  const written = Object.hasOwn(found, name) ? found[name] : undefined;
  if (written) {
    saved.set(name, written);
    connections.set(name, savedConnection(name, written));
    return connections.get(name);
  }
  const names = [...new Set([...connections.keys(), ...Object.keys(found)])];
  const choices =
    didYouMean(name, names) || (names.length === 0 ? '; the flow has none, and none is saved' : `; there are ${names.join(', ')}`);
  const problem = source.at(
    at,
    `no connection "${name}"${choices}\nsave it: automate connections add ${type} ${name} ${addExamples[type]}`,
  );
  missing.add(problem);
  problems.push(problem);
  return undefined;

  function savedConnection(name: string, written: object): Connection | undefined {
    try {
      return compileSavedConnection(name, written, allowHttp);
    } catch (error) {
      problems.push(source.at(at, `the saved connection "${name}" is not valid: ${(error as Error).message}`));
      return undefined;
    }
  }
}

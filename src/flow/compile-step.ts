import type { Expression } from '../core/condition/condition.ts';
import type { Kind, Mismatch } from '../core/condition/mismatches.ts';
import type { Connection } from '../core/connection.ts';
import type { CodedMessage } from '../core/error-code.ts';
import { type BuildContext, DataNeeded, type LateNodeType, type Node, type NodeType, type OnError } from '../core/node.ts';
import { didYouMean, nearest } from '../core/text/suggest.ts';
import { textOf, type ValuePath } from '../core/value/value.ts';
import { type Compilation, listOf, mappingOf, type PlacedStep } from './compilation.ts';
import { compileSavedConnection } from './connections.ts';
import { checkedBy } from './issues.ts';
import { partAt } from './reads.ts';
import { nodeSchema } from './schema.ts';
import type { FlowSource } from './source.ts';

interface Parent {
  readonly at: ValuePath;
  /** Undefined for the flow itself. */
  readonly id?: string;
}

/** Reports the problems of each node, and returns `undefined` in its place. */
export function compileSteps(written: readonly unknown[], parent: Parent, compilation: Compilation): (PlacedStep | undefined)[] {
  return written.map((node, index) => {
    const at = [...parent.at, 'nodes', index];
    const type = nodeTypeOf(node, at, compilation);
    const id = `${parent.id === undefined ? '' : `${parent.id}.`}${type?.name ?? 'node'}-${index + 1}`;
    const step = type && compileStep(node, type, { at, id }, compilation);
    // Compiles the inner nodes of an invalid node, too, so that their problems are also reported.
    const hasInner = !type || 'nodes' in type.options.shape;
    if (step === undefined && hasInner) compileSteps(listOf(mappingOf(node).nodes), { at, id }, compilation);
    return step ?? undefined;
  });
}

interface StepOptions {
  readonly id?: string;
  readonly when: Expression<boolean> | undefined;
  readonly on_error: OnError;
}

interface StepPlace {
  readonly at: ValuePath;
  readonly id: string;
}

/** Returns `undefined` if the options cannot be read, and `null` if `build` reported problems. */
function compileStep(written: unknown, type: NodeType, place: StepPlace, compilation: Compilation): PlacedStep | undefined | null {
  const { at } = place;
  const wrong = new Set<PropertyKey>();
  const withType = { ...mappingOf(written), type: type.name };
  const options = checkedBy(nodeSchema(type), withType, { ...compilation, at, wrong }) as StepOptions | undefined;
  if (!options) return undefined;
  const { id = place.id, when } = options;
  refuseTwice(id, at, compilation);
  warnOfShort(written, at, compilation);
  const context = buildContext(id, at, wrong, compilation);
  if (when) context.warnOfCells(['when'], when);
  const node = type.build(options as never, context);
  if (!node) return null;
  noteFields(node, when === undefined, compilation);
  noteAnswered(node, when === undefined && options.on_error !== 'keep' && !node.inner?.areAlternatives, compilation);
  // If `when` or `on_error` is invalid, the node is compiled as if every record might skip it. Otherwise, later nodes would report missing
  // fields.
  const onError = wrong.has('when') || wrong.has('on_error') ? 'keep' : options.on_error;
  return { id, type: type.name, node, when, onError, at, wrong };
}

function noteFields(node: Node, isForAll: boolean, { madeFields, typedFields, passed }: Compilation): void {
  for (const field of node.columns([])) {
    madeFields.add(field);
    typedFields.delete(field);
  }
  for (const field of node.typedFields ?? []) typedFields.add(field);
  if (isForAll) passed.push(node);
}

const durations: readonly ValuePath[] = [
  ...[['timeout'], ['cache'], ['every'], ['every', 'initial'], ['every', 'max'], ['retry', 'max_wait']],
  ...[
    ['retry', 'backoff'],
    ['retry', 'backoff', 'initial'],
    ['retry', 'backoff', 'max'],
  ],
];

/** A number without a unit is in ms, but people often mean seconds. */
function warnOfShort(written: unknown, at: ValuePath, { source, warnings }: Compilation): void {
  for (const path of durations) {
    const found = path.reduce<unknown>((value, key) => mappingOf(value)[String(key)], written);
    if (!/^0*[1-9]\d*$/.test(String(found)) || Number(found) >= 1000) continue;
    const option = `${path.at(-1)}: ${found}`;
    const message = `${option} is ${found} ms\nwrite ${option}s for seconds, or ${option}ms if that is meant`;
    warnings.push(source.at([...at, ...path], message));
  }
}

/** Inner nodes have noted their own fields already. `isForAll` is false if a record can keep a field of the input instead. */
function noteAnswered({ answered, inner, columns }: Node, isForAll: boolean, { answeredFields }: Compilation): void {
  if (!inner || !isForAll) for (const field of columns([])) answeredFields.delete(field);
  if (!answered || !isForAll) return;
  for (const field of answered.fields) answeredFields.set(field, answered.connection);
}

function refuseTwice(id: string, at: ValuePath, { ids, source, problems }: Compilation): void {
  if (ids.has(id)) problems.push(source.at([...at, 'id'], `two nodes have the id "${id}"`));
  ids.add(id);
}

function nodeTypeOf(written: unknown, at: ValuePath, { source, problems, nodeTypes }: Compilation): NodeType | undefined {
  const { type } = mappingOf(written);
  const found = nodeTypes.find(({ name }) => name === type);
  if (found && 'load' in found) return found.loaded ?? needed(found);
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

function needed(type: LateNodeType): never {
  throw new DataNeeded(async () => {
    await type.load();
  });
}

function buildContext(id: string, at: ValuePath, wrong: Set<PropertyKey>, compilation: Compilation): BuildContext {
  const { source, problems, warnings, allowHttp, allowHosts, literalOrigins } = compilation;
  const { textCells, typedFields, answeredFields, madeFields, carried, passed } = compilation;
  let typedBefore = new Set(typedFields);
  const isCell = (field: string) => textCells && !typedBefore.has(field);
  return {
    id,
    flow: compilation.name,
    overrides: compilation,
    names: compilation.names,
    allowHttp,
    takesFiles: !compilation.withoutFiles,
    allowHosts,
    literalOrigins,
    carried,
    // A loop can carry a field over from an answer of another server.
    answersOf: (field) => (carried.includes(field) ? undefined : answeredFields.get(field)),
    isCell,
    mayBeCells: compilation.mayBeCells ?? false,
    fileText(place, path) {
      const found = compilation.fileText?.(path) ?? { problem: 'this flow cannot read files' };
      if ('text' in found) compilation.files.set(path, found.text);
      else this.problem(place, `the file ${path} cannot be read: ${found.problem}`);
      return 'text' in found ? found.text : undefined;
    },
    readBeside(path, key, read) {
      if (!compilation.readBeside) throw new Error(`the flow of ${id} cannot read files`);
      return compilation.readBeside(path, key, read);
    },
    sharedRows: compilation.sharedRows && (compilation.sharedRows[id] ?? 'none'),
    inner(written, more = []) {
      const steps = compileSteps(written, { at, id }, { ...compilation, carried: [...carried, ...more] });
      // The conditions of this node can read the fields that its inner nodes add.
      typedBefore = new Set(typedFields);
      return steps.every((step) => step !== undefined) ? (steps as PlacedStep[]) : undefined;
    },
    connection: (name) => connectionOfType('http', name, [...at, 'connection'], compilation),
    mcpConnection: (name) => connectionOfType('mcp', name, [...at, 'connection'], compilation),
    writtenText: (place) => ({ text: String(partAt(source.written, [...at, ...place])), variables: variableTexts(source) }),
    problem(place, message, within) {
      if (place[0] !== undefined) wrong.add(place[0]);
      problems.push(source.at([...at, ...place], message, within));
    },
    missing(options, message, place = []) {
      if (!options.some((option) => wrong.has(option))) problems.push(source.at([...at, ...place], message));
    },
    warn: (place, message) => warnings.push(source.at([...at, ...place], message)),
    warnOfCells(place, { mismatches }, nameBefore = (field) => field) {
      for (const mismatch of mismatches) {
        const { field, offset } = mismatch;
        const name = nameBefore(field);
        const isMade = madeFields.has(name);
        if (!isCell(name) || !(isMade || passed.every((node) => node.columns([name]).includes(name)))) continue;
        const problem = source.at([...at, ...place], mismatchText(mismatch), offset);
        warnings.push(isMade ? problem : { ...problem, cell: name, isCarried: carried.includes(name) });
      }
    },
  };
}

/** A variable without a value is its name, as in the compiled options. */
function variableTexts({ variables }: FlowSource): Map<string, string> {
  const { used = new Map(), standIns = [] } = variables ?? {};
  return new Map([...[...standIns].map((name) => [name, name] as const), ...used].map(([name, value]) => [`vars.${name}`, textOf(value)]));
}

function mismatchText({ kind, fails, written, asText }: Mismatch): string {
  if (kind === 'member')
    return `a CSV cell is text without members, so has() is false for every record\nremove the condition, or test the cell itself: has(${written})`;
  if (kind === 'type') return `a CSV cell is text, and its type is always string\ntest its text: ${written}.matches("^-?[0-9]+$")`;
  const reason = fails ? `so this operation with ${kindNames[kind]} fails` : `and never equals ${kindNames[kind]}`;
  const convert = conversions[kind]?.(written, fails);
  const ways = [convert && `convert it: ${convert}`, asText && `${convert ? 'or ' : ''}compare it with text: ${asText}`];
  return [`a CSV cell is text, ${reason}`, ...ways.filter(Boolean)].join('\n');
}

const kindNames: Readonly<Record<Kind, string>> = {
  number: 'a number',
  bool: 'true or false',
  timestamp: 'a timestamp',
  duration: 'a duration',
  list: 'a list',
  null: 'null',
};

/** Convert a cell to another kind of value. `fails` is true in a calculation. */
const conversions: Readonly<Partial<Record<Kind, (cell: string, fails: boolean) => string>>> = {
  number: (cell) => `int(${cell}) or double(${cell})`,
  timestamp: (cell) => `timestamp(${cell})`,
  duration: (cell, fails) => `${fails ? `timestamp(${cell}) or ` : ''}duration(${cell})`,
};

/** Reports a problem if no connection has this name, or if its type is different. */
function connectionOfType<Type extends Connection['type']>(
  type: Type,
  name: string,
  at: ValuePath,
  compilation: Compilation,
): Extract<Connection, { type: Type }> | undefined {
  const connection = connectionNamed(name, at, compilation, type);
  if (connection && connection.type !== type) {
    const message = `expected a connection of type ${type}, found "${name}", which is of type ${connection.type}`;
    compilation.problems.push(compilation.source.at(at, `${message}\nonly nodes of type ${connection.type} can use it`));
    return undefined;
  }
  if (connection?.type === 'http' && connection.clientCert && !compilation.certificates.has(connection.clientCert))
    compilation.certificates.set(connection.clientCert, at);
  return connection as Extract<Connection, { type: Type }> | undefined;
}

/** Searches the flow, then the saved connections. The advice in the message depends on `expected`. */
function connectionNamed(name: string, at: ValuePath, compilation: Compilation, expected: Connection['type']): Connection | undefined {
  const { connections, source, problems, missing, saved } = compilation;
  if (connections.has(name)) return connections.get(name);
  const others = compilation.savedConnections?.() ?? {};
  const written = Object.hasOwn(others, name) ? others[name] : undefined;
  if (written) {
    const connection = savedConnection(name, written, at, compilation);
    saved.set(name, written);
    connections.set(name, connection);
    return connection;
  }
  const names = [...new Set([...connections.keys(), ...Object.keys(others)])];
  const choices =
    didYouMean(name, names) || (names.length === 0 ? '; the flow has none, and none is saved' : `; available: ${names.join(', ')}`);
  const facts = { code: 'connection-missing', details: { connection: name, type: expected } } as const;
  const problem = source.at(at, { message: `no connection "${name}"${choices}`, ...facts });
  missing.add(problem);
  problems.push(problem);
  return undefined;
}

function savedConnection(
  name: string,
  written: object,
  at: ValuePath,
  { source, problems, allowHttp }: Compilation,
): Connection | undefined {
  try {
    return compileSavedConnection(name, written, allowHttp);
  } catch (error) {
    const { message, code, details } = error as Error & CodedMessage;
    problems.push(source.at(at, { message: `the saved connection "${name}" is not valid: ${message}`, code, details }));
    return undefined;
  }
}

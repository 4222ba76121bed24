import type { MappedField } from '../core/answer/mapping.ts';
import { nullTests } from '../core/condition/condition.ts';
import type { ClientCertificate } from '../core/connection.ts';
import type { Problem } from '../core/failure.ts';
import type { Inner, Node } from '../core/node.ts';
import {
  allSteps,
  type CredentialUse,
  columnsAfterAll,
  type Plan,
  type PlanVariables,
  type ReplacedColumn,
  type SerialOrder,
  type ToolUse,
  type Warning,
} from '../core/plan.ts';
import { yamlWord } from '../core/text/quoted-word.ts';
import { freeName } from '../core/text/suggest.ts';
import { isMapping, jsonOf, textOf, type Value, type ValuePath } from '../core/value/value.ts';
import { misfitNames, withNames } from './column-names.ts';
import { mappingOf, type PlacedStep } from './compilation.ts';
import { nearReferenceWarnings, withUnreferableColumns } from './near-references.ts';
import { makersOf, partAt, readsOf } from './reads.ts';
import type { FlowSource } from './source.ts';
import { neededFieldsIn, type SerialBy, serialOrderOf, unknownFieldsIn, unknownSerialFields } from './unknown-fields.ts';

interface FlowOptions extends Pick<Plan, 'name' | 'names' | 'description'> {
  readonly serialBy: SerialBy | undefined;
}

interface PlanParts {
  readonly source: FlowSource;
  readonly warnings: readonly Warning[];
  readonly saved: ReadonlyMap<string, object>;
  readonly files: ReadonlyMap<string, string>;
  /** Each certificate is mapped to the place in the flow where its connection is named. */
  readonly certificates: ReadonlyMap<ClientCertificate, ValuePath>;
  readonly literalOrigins: Iterable<string>;
}

export function planOf(
  { name, names, description, serialBy }: FlowOptions,
  steps: readonly PlacedStep[],
  { source, warnings, saved, files, certificates, literalOrigins }: PlanParts,
): Plan {
  const credentials = [...credentialsOf(steps, source), ...passphrasesOf(certificates, source)];
  const tools = toolsOf(steps, source);
  const serialOrder = serialBy === undefined ? undefined : serialOrderOf(serialBy, mappingOf(source.value).serial_by);
  const flow = { steps, source, names };
  const unknown = (input: readonly string[], who?: string): Problem[] => {
    const found = [...unknownSerialFields({ serialBy, source, names }, input, who), ...unknownFieldsIn(flow, input, who)];
    return inOrder(who === undefined ? withUnreferableColumns(found, { ...flow, columns: input }) : found);
  };
  return {
    name,
    names,
    description,
    steps,
    serialOrder,
    warnings(header) {
      const input = header && names.allInFlow(header);
      return [
        ...nearReferenceWarnings({ source, steps, names, columns: input }),
        ...warnings.filter(({ cell, isCarried }) => cell === undefined || (input ? input.includes(cell) : !isCarried)),
        ...(input ? replacedIn(steps, input, source).map(({ problem }) => problem) : []),
      ];
    },
    replacedColumns: (input) => replacedIn(steps, names.allInFlow(input), source),
    notes: [...serialNotes(serialOrder), ...allSteps(steps).flatMap(({ node }) => node.notes ?? [])],
    files,
    savedConnections: saved,
    reads: readsOf(steps, source),
    makers: makersOf(steps, source, saved),
    variables: variablesIn(source),
    credentials,
    certificates: [...certificates.keys()],
    tools,
    origins: [...new Set([...literalOrigins, ...credentials.flatMap((use) => use.origins), ...tools.flatMap(remoteOrigin)])],
    neededFields: () => [...new Set([...(serialOrder?.needed ?? []), ...neededFieldsIn(steps)])],
    nullTests: () => [...new Set(nullTestsWithin(mappingOf(source.value).nodes))],
    columns: (input) => columnsAfterAll(steps, names.allInFlow(input)),
    unknownFields: (input, who) => unknown(names.allInFlow(input), who),
    headerProblems: (header) => inOrder([...misfitNames(names, header, source), ...unknown(withNames(names, header))]),
  };
}

function serialNotes(order: SerialOrder | undefined): string[] {
  return order ? [`serial_by: records with the same ${order.label} go through the flow one after another`] : [];
}

/** The fields that expressions in the options test for null. */
function nullTestsWithin(value: unknown): string[] {
  if (typeof value === 'string') return /\bnull\b|\bhas\(/.test(value) ? nullTests(value) : [];
  if (Array.isArray(value)) return value.flatMap(nullTestsWithin);
  return isMapping(value) ? Object.values(value).flatMap(nullTestsWithin) : [];
}

function variablesIn({ variables }: FlowSource): PlanVariables {
  const { used = [], open = new Set<string>(), standIns: unset = new Set<string>(), range } = variables ?? {};
  return { values: new Map([...used].map(([name, value]) => [name, jsonOf(value)])), open, unset, range };
}

/** Includes the credentials of inner nodes. */
export function credentialsOf(steps: readonly PlacedStep[], source: FlowSource): CredentialUse[] {
  const uses: CredentialUse[] = [];
  for (const { at, node } of allSteps(steps) as PlacedStep[]) {
    for (const { field: name, isPair, origins, at: option, login, hint } of node.action?.credentials ?? []) {
      const place =
        option[0] === 'connection' ? (namedInConnection(name, [...at, ...option], source) ?? [...at, ...option]) : [...at, ...option];
      const problem = (message: string) => source.at(place, withHint(message, hint));
      uses.push({ name, isPair, origins, problem, login });
    }
  }
  return uses;
}

/** The passphrases of client keys. No server receives them. */
function passphrasesOf(certificates: PlanParts['certificates'], source: FlowSource): CredentialUse[] {
  return [...certificates].flatMap(([{ passphrase: name }, at]) => {
    if (name === undefined) return [];
    const place = namedInConnection(name, at, source) ?? at;
    return [{ name, isPair: false, origins: [], problem: (message: string) => source.at(place, message) }];
  });
}

/** Undefined for a saved connection. `at` is the place where the connection is named. */
function namedInConnection(credential: string, at: ValuePath, { value }: FlowSource): ValuePath | undefined {
  const connection = ['connections', partAt(value, at) as string];
  const inside = placeOfCredential(credential, partAt(value, connection));
  return inside && [...connection, ...inside];
}

/** The path of the first member `credential` with this name. */
function placeOfCredential(credential: string, value: unknown): ValuePath | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (name === 'credential' && member === credential) return [name];
    const inside = placeOfCredential(credential, member);
    if (inside) return [Array.isArray(value) ? Number(name) : name, ...inside];
  }
  return undefined;
}

function withHint(message: string, hint: string | undefined): string {
  const [problem, ...advice] = message.split('\n');
  return [problem, ...(hint === undefined ? [] : [hint]), ...advice].join('\n');
}

/** Includes the tools of inner nodes. */
function toolsOf(steps: readonly PlacedStep[], source: FlowSource): ToolUse[] {
  const uses: ToolUse[] = [];
  for (const { at, node } of allSteps(steps) as PlacedStep[]) {
    const tool = node.action?.tool;
    if (!tool) continue;
    const check: ToolUse['check'] = (tools, textCells) =>
      tool.check(tools, textCells).map((problem) => source[problem.isName ? 'atName' : 'at']([...at, ...problem.at], problem.message));
    uses.push({ connection: tool.connection, check });
  }
  return uses;
}

/** Empty if the server runs on this machine. */
function remoteOrigin({ connection: { server, origin } }: ToolUse): string[] {
  return 'url' in server ? [origin] : [];
}

/** Sorts by position in the file. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** Columns of the input that have not been replaced or removed: the name that each has now, mapped to its name in the input. */
type OwnColumns = ReadonlyMap<string, string>;

/** Finds the input's columns that maps replace although their fields are not written with `replace: true`, and that `found_by` replaces. */
function replacedIn(steps: readonly PlacedStep[], input: readonly string[], source: FlowSource): ReplacedColumn[] {
  const found: ReplacedColumn[] = [];
  const taken = new Set([...input, ...columnsAfterAll(steps, input)]);
  const other = (field: string) => freeName(field, (name) => taken.has(name));
  passed(steps, new Map(input.map((name) => [name, name])));
  return found;

  function passed(steps: readonly PlacedStep[], before: OwnColumns): OwnColumns {
    let own = before;
    for (const step of steps) {
      const { id, node, when, onError } = step;
      for (const mapped of node.mapped ?? []) {
        const { field } = mapped;
        const column = own.get(field);
        if (column !== undefined)
          found.push({ node: id, field, column, problem: replacement({ mapped, column, step, other: other(field), source }) });
      }
      const column = node.named && own.get(node.named.field);
      if (node.named && column !== undefined)
        found.push({
          node: id,
          field: node.named.field,
          column,
          problem: source.at([...step.at, node.named.option], namedText(node.named, column, other(node.named.field))),
        });
      const after = node.inner ? passedInside(node.inner, own) : remaining(node, own);
      // A record that skips the node, or continues after it failed there, still has the column.
      own = when || onError === 'keep' ? new Map([...own, ...after]) : after;
    }
    return own;
  }

  function passedInside({ steps, carried, areAlternatives, reads }: Inner, own: OwnColumns): OwnColumns {
    if (!areAlternatives) return passed(steps as PlacedStep[], without(carried, own));
    // The fields of the condition are what the alternatives are asked for.
    const sought = reads.map(({ field }) => field);
    for (const step of steps as PlacedStep[]) passed([step], without(sought, own));
    return own;
  }
}

/** A map's field that replaces a column of the input. `other` is a name that is free. */
interface FieldOverColumn {
  readonly mapped: MappedField;
  readonly column: string;
  readonly step: PlacedStep;
  readonly other: string;
  readonly source: FlowSource;
}

function replacement({ mapped: { field, member, file, at }, column, step, other, source }: FieldOverColumn): Problem {
  const place = [...step.at, ...at];
  const isNamed = typeof at.at(-1) === 'string';
  const whose = whoseText(field, column);
  const entry = (name: string, value: string) => {
    const text = `${yamlWord(name)}: ${value}`;
    return isNamed ? text : `map: { ${text} }`;
  };
  const { path, required, default: fallback } = member;
  const options = [
    ...(required ? ['required: true'] : []),
    ...(fallback === undefined ? [] : [`default: ${typeof fallback === 'string' ? JSON.stringify(fallback) : textOf(fallback as Value)}`]),
  ];
  const marked = (more: readonly string[]) =>
    `{ ${[`${file === undefined ? 'path' : 'column'}: ${yamlWord(path)}`, ...options, ...more].join(', ')} }`;
  const message = `${whose}, and ${file ?? 'the answer'} replaces it${options.length > 0 ? '' : ', even with an empty value'}
to keep the column, write another name: ${entry(other, options.length > 0 ? marked([]) : yamlWord(path))}
to replace it, write: ${entry(field, marked(['replace: true']))}`;
  return isNamed ? source.atName(place, message) : source.at(place, message);
}

function whoseText(field: string, column: string): string {
  return field === column ? `"${field}" is a column of the input` : `"${field}" is the input's column "${column}"`;
}

function namedText({ field, option }: NonNullable<Node['named']>, column: string, other: string): string {
  return `${whoseText(field, column)}, and ${option} replaces it\nto keep the column, write another name: ${option}: ${yamlWord(other)}`;
}

/** Leaves out fields of which the flow says itself that they get a new value, such as those that a loop carries. */
function without(names: readonly string[] = [], own: OwnColumns): OwnColumns {
  return new Map([...own].filter(([name]) => !names.includes(name)));
}

/** Returns the columns that still come from the input after a node. */
function remaining({ columns, renames }: Node, own: OwnColumns): OwnColumns {
  const made = columns([]);
  return new Map(
    [...own].flatMap(([name, column]): [string, string][] => {
      const now = renames?.get(name) ?? name;
      const isMade = now === name && made.includes(name);
      return isMade || !columns([name]).includes(now) ? [] : [[now, column]];
    }),
  );
}

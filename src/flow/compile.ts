import type { Expression } from '../core/condition.ts';
import { FlowError, type Problem } from '../core/failure.ts';
import type { BuildContext, FieldUse, HttpConnection, NodeType } from '../core/node.ts';
import type { OnError, Plan, Step } from '../core/plan.ts';
import { didYouMean } from '../core/suggest.ts';
import { nearReferences } from '../core/template.ts';
import { compileConnections } from './connections.ts';
import { checked } from './issues.ts';
import { flowSchema, nodeSchema } from './schema.ts';
import { type At, readSource, type Source } from './source.ts';

/** What the command line adds to a flow. */
export interface CompileOptions {
  /** The flow's file, for messages and as its name. */
  readonly file: string;
  readonly nodeTypes: readonly NodeType[];
  readonly allowHttp: boolean;
  /** Whether the records' fields are all texts, as in CSV. */
  readonly textCells: boolean;
}

/** What a compilation gathers on its way. */
interface Compilation extends CompileOptions {
  readonly source: Source;
  readonly problems: Problem[];
  readonly warnings: Problem[];
  readonly connections: ReadonlyMap<string, HttpConnection | undefined>;
  readonly allowHosts: readonly string[];
  readonly literalOrigins: Set<string>;
}

/** Turns a flow's text into a plan. Throws a FlowError with every problem of the file. */
export function compile(text: string, options: CompileOptions): Plan {
  const source = readSource(text);
  const problems = [...source.problems];
  const top = { source, at: [], problems };
  if (source.value === undefined) throw new FlowError(options.file, inOrder(problems));
  if (source.value === null) throw new FlowError(options.file, [{ message: 'expected a flow with a list of nodes, found an empty file' }]);
  const flow = checked(flowSchema, source.value, top);
  // A broken head does not hide what is wrong in the nodes.
  const written = source.value as { connections?: unknown; nodes?: unknown };
  const connections = compileConnections(flow?.connections ?? mappingOf(written.connections), {
    source,
    problems,
    allowHttp: options.allowHttp,
  });
  const compilation: Compilation = {
    ...options,
    source,
    problems,
    warnings: [],
    connections,
    allowHosts: flow?.allow_hosts ?? [],
    literalOrigins: new Set(),
  };
  const nodes = Array.isArray(written.nodes) ? written.nodes : [];
  const steps = nodes.map((node, index) => compileStep(node, index, compilation));
  refuseDoubles(steps, compilation);
  if (problems.length > 0) throw new FlowError(options.file, inOrder(problems));
  return planOf(flow?.name ?? nameOf(options.file), steps as PlacedStep[], compilation);
}

function mappingOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function nameOf(file: string): string {
  return (file.split(/[\\/]/).at(-1) as string).replace(/\.ya?ml$/i, '');
}

interface PlacedStep extends Step {
  readonly at: At;
}

function compileStep(written: unknown, index: number, compilation: Compilation): PlacedStep | undefined {
  const at = ['nodes', index];
  const type = nodeTypeOf(written, at, compilation);
  if (!type) return undefined;
  warnOfNearReferences(written, at, compilation);
  const options = checked(nodeSchema(type), written, { ...compilation, at }) as StepOptions | undefined;
  if (!options) return undefined;
  const id = options.id ?? `${type.name}-${index + 1}`;
  const node = type.build(options as never, buildContext(id, at, compilation));
  return node && { id, type: type.name, node, when: options.when, onError: options.on_error, at };
}

interface StepOptions {
  readonly id?: string;
  readonly when: Expression<boolean> | undefined;
  readonly on_error: OnError;
}

function nodeTypeOf(written: unknown, at: At, { source, problems, nodeTypes }: Compilation): NodeType | undefined {
  const { type } = mappingOf(written);
  const found = nodeTypes.find(({ name }) => name === type);
  if (found) return found;
  const names = nodeTypes.map(({ name }) => name);
  const expected = `expected ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
  if (typeof type !== 'string') problems.push(source.at(at, `a node needs a type; ${expected}`));
  else problems.push(source.at([...at, 'type'], `no node type "${type}"${didYouMean(type, names) || `; ${expected}`}`));
  return undefined;
}

function buildContext(id: string, at: At, compilation: Compilation): BuildContext {
  const { source, problems, warnings, connections, allowHttp, allowHosts, literalOrigins, textCells } = compilation;
  return {
    id,
    allowHttp,
    allowHosts,
    literalOrigins,
    textCells,
    connection(name) {
      if (!connections.has(name)) {
        problems.push(source.at([...at, 'connection'], `no connection "${name}"${didYouMean(name, connections.keys())}`));
      }
      return connections.get(name);
    },
    problem: (place, message) => problems.push(source.at([...at, ...place], message)),
    warn: (place, message) => warnings.push(source.at([...at, ...place], message)),
  };
}

function warnOfNearReferences(value: unknown, at: At, compilation: Compilation): void {
  if (typeof value === 'string') {
    for (const text of nearReferences(value)) compilation.warnings.push(compilation.source.at(at, nearReference(text), text));
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      warnOfNearReferences(member, [...at, Array.isArray(value) ? Number(name) : name], compilation);
    }
  }
}

function nearReference(text: string): string {
  const name = text.slice(2, -2);
  const mend =
    name.trim() !== name && /^[\p{L}\p{M}\p{N}_]+$/u.test(name.trim())
      ? `drop the spaces: {{${name.trim()}}}`
      : `rename the field with a set node first: rename: { "${name.trim()}": ${name.trim().replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')} }`;
  return `${text} is no reference and stays text; only letters, digits and underscores make a name\n${mend}`;
}

function refuseDoubles(steps: readonly (PlacedStep | undefined)[], { source, problems }: Compilation): void {
  const seen = new Set<string>();
  for (const step of steps) {
    if (step && seen.has(step.id)) problems.push(source.at([...step.at, 'id'], `two nodes have the id "${step.id}"`));
    if (step) seen.add(step.id);
  }
}

function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function planOf(name: string, steps: readonly PlacedStep[], { source, warnings }: Compilation): Plan {
  const columnsAfter = (step: Step, before: readonly string[]) => {
    const columns = step.node.columns(before);
    return step.onError === 'keep' ? [...new Set([...columns, '_error'])] : columns;
  };
  return {
    name,
    steps,
    warnings,
    credentials: steps.flatMap((step) =>
      (step.node.action?.credentials ?? []).map((use) => ({
        name: use.field,
        problem: (message: string) => source.at([...step.at, ...use.at], message),
      })),
    ),
    columns: (input) => steps.reduce((columns, step) => columnsAfter(step, columns), [...input]),
    unknownFields(input) {
      let known: readonly string[] = input;
      return steps.flatMap((step) => {
        const unknown = usesOf(step).filter(({ field }) => !known.includes(field));
        const problems = unknown.map(({ field, at }) => {
          const message = `no record has a field "${field}" here${didYouMean(field, known) || `; there are ${known.join(', ')}`}`;
          return source.at([...step.at, ...at], message, at[0] === 'when' || at.includes('cel') ? field : `{{${field}}}`);
        });
        known = columnsAfter(step, known);
        return problems;
      });
    },
  };
}

function usesOf(step: Step): FieldUse[] {
  const inWhen = (step.when?.fields ?? []).map((field) => ({ field, at: ['when'] }));
  return [...inWhen, ...step.node.reads];
}

import { FlowError, type Problem } from '../core/failure.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { type Compilation, type CompileOptions, listOf, mappingOf, type PlacedStep } from './compilation.ts';
import { compileSteps } from './compile-step.ts';
import { compileConnections } from './connections.ts';
import { credentialsOf, inOrder, planOf } from './plan.ts';
import { checkedBy } from './problems/issues.ts';
import { nearReferenceWarnings } from './problems/near-references.ts';
import { flowSchema } from './schema.ts';
import { readSource, type Source } from './source.ts';
import { removedFieldsIn, unknownFieldsIn } from './unknown-fields.ts';

/** Turns a flow's text into a plan. Throws a FlowError with every problem of the file. */
export function compile(text: string, options: CompileOptions): Plan {
  const source = readSource(text, options.variables ?? {});
  const problems = [...source.problems];
  if (source.value === null) problems.push(source.at([], 'expected a flow with a list of nodes, found an empty file'));
  if (source.value === undefined || source.value === null) throw new FlowError(options.file, inOrder(problems));
  // A mistake at the top of the file does not hide the problems of the nodes.
  const written = mappingOf(source.value);
  const flow = checkedBy(flowSchema, source.value, { source, at: [], problems });
  const { connections = mappingOf(written.connections), nodes = listOf(written.nodes), allow_hosts: allowHosts = [] } = flow ?? {};
  const name = flow?.name ?? options.name ?? baseName(options.file);
  const base = { source, problems, warnings: [...source.warnings, ...nearReferenceWarnings(source)], allowHttp: options.allowHttp };
  const compilation: Compilation = {
    ...options,
    ...base,
    name,
    connections: compileConnections(connections, { ...base, isSaved: false, file: options.file }),
    saved: new Map(),
    ids: new Set(),
    missing: new Set(),
    certificates: new Map(),
    allowHosts,
    literalOrigins: new Set(),
    typedFields: new Set(),
    madeFields: new Set(),
    passed: [],
    carried: [],
  };
  const steps = compileSteps(nodes, { at: [] }, compilation);
  problems.push(...(options.columns ? unknownFieldsIn(steps, options.columns, source) : removedFieldsIn(steps, source)));
  const valid = steps.filter((step) => step !== undefined);
  if (problems.length > 0) {
    options.credentials?.(credentialsOf(valid, source));
    const kind = problems.every((problem) => compilation.missing.has(problem)) ? 'credential' : 'flow';
    throw new FlowError(options.file, inOrder(problems), kind);
  }
  if (compilation.literalOrigins.size === 0) compilation.warnings.push(...unsentCredentials(valid, source));
  return planOf({ name, description: flow?.description }, valid, compilation);
}

/** Warnings for the credentials of a flow that names no origin literally: no request gets them. */
function unsentCredentials(steps: readonly PlacedStep[], source: Source): Problem[] {
  const message =
    'this credential is never sent: it goes only to hosts that the flow names, and here every record names the host\nput a / after the host, or set the base_url of a connection';
  return (allSteps(steps) as PlacedStep[]).flatMap(({ at, node: { action } }) =>
    action && !action.tool ? action.credentials.map((use) => source.at([...at, ...use.at], message)) : [],
  );
}

function baseName(file: string): string {
  return (file.split(/[\\/]/).at(-1) as string).replace(/\.ya?ml$/i, '');
}

import { randomUUID } from 'node:crypto';
import { findSaved } from '../cli/connections/connections.ts';
import type { Terminal } from '../cli/terminal.ts';
import { AutomateError, Failure, FlowError } from '../core/failure.ts';
import type { CategoryNames } from '../core/lookups/category.ts';
import type { LookupDocument } from '../core/lookups/lookup.ts';
import type { Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import type { JsonObject } from '../core/value/value.ts';
import { Gates } from '../engine/gates.ts';
import { compile } from '../flow/compile.ts';
import { readConnections } from '../io/connections.ts';
import { nodeTypes } from '../nodes/index.ts';
import { loadSecrets } from './flow/flow-secrets.ts';
import { dataFolder } from './ports/data-folder.ts';
import { openRunLedger, pricesOf } from './ports/run-ledger.ts';
import { wire } from './ports/wire.ts';
import { ChainMaker } from './preview/chain-maker.ts';

/** A lookup of a command: one node, and its only record. */
export interface OneLookup {
  /** The command, as credits name it. */
  readonly command: string;
  /** The options of the node, without those that are absent. */
  readonly node: JsonObject & { readonly type: string; readonly connection?: string };
  readonly fields: Fields;
  readonly options: { readonly env?: string; readonly allowHttp?: boolean; readonly cacert?: string };
}

/** Looks one thing up as a run does: with its credit, gate, retries and cache. Returns the answer document, or why there is none. */
export async function lookUpOne({ command, node, fields, options }: OneLookup, terminal: Terminal): Promise<LookupDocument | Failure> {
  const { env, cacert, allowHttp = false } = options;
  const { warn, redactor } = terminal;
  if (node.connection !== undefined) findSaved(node.connection);
  const plan = await lookupPlan(command, node, allowHttp);
  const [step] = plan.steps as [Step];
  const credentials = await loadSecrets(plan, command, options, terminal);
  const ledger = await openRunLedger(pricesOf(plan, env), { run: randomUUID(), env, warn });
  const ports = wire({ credentials, redactor, allowHttp, cacert, ledger, env, report: () => {}, warn });
  try {
    const chains = new ChainMaker(plan, ports, new Gates(ports.clock));
    const row = await chains.firstRow(step, { number: 1, fields, end: { offset: 0, line: 0 } });
    return row instanceof Failure ? row : (row.get('document') as LookupDocument);
  } finally {
    await ports.close();
    ledger.close();
    await credentials.usesRecorded();
  }
}

/** The flow of one node, whose answer becomes one field. */
async function lookupPlan(command: string, node: OneLookup['node'], allowHttp: boolean): Promise<Plan> {
  const flow = { name: command, nodes: [{ id: node.type, ...node, map: { document: '$body' } }] };
  const options = { allowHttp, textCells: true, savedConnections: () => readConnections(process.env) };
  try {
    return compile(JSON.stringify(flow), {
      file: command,
      nodeTypes,
      categories: node.category === undefined ? undefined : await loadNames(),
      ...options,
    });
  } catch (error) {
    if (error instanceof FlowError) throw new AutomateError(error.kind === 'credential' ? 'credential' : 'usage', error.message);
    throw error;
  }
}

async function loadNames(): Promise<CategoryNames> {
  const { loadCategoryNames } = await import('../io/lookups/categories/category-names.ts');
  return loadCategoryNames(dataFolder);
}

import { AutomateError, errorOf, Failure, FlowError, LimitReached, Unfinished } from '../core/failure.ts';
import type { Item, PartialRows } from '../core/item.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import type { SessionOptions } from '../core/run-options.ts';
import type { JsonObject } from '../core/value/value.ts';
import { readConnections } from '../credentials/connections-file.ts';
import type { Messages } from '../credentials/messages.ts';
import { Batches } from '../engine/batches.ts';
import { Calls, RecordProgress } from '../engine/call.ts';
import { Chain } from '../engine/chain.ts';
import type { ChainTools } from '../engine/context.ts';
import { Gates, RunGates } from '../engine/gates.ts';
import { RunPhase } from '../engine/phase.ts';
import { compile, withData } from '../flow/compile.ts';
import { dataFolder } from '../places/late-lookups.ts';
import type { LookupDocument } from '../places/lookup.ts';
import { findSaved } from '../run/flow-folder.ts';
import { loadNodeTypesIn, nodeTypes } from '../run/node-types.ts';
import { openSession, useOf } from '../run/session.ts';
import type { WiredPorts } from '../run/wire.ts';

/** A lookup that a command makes, such as `geocode`. It runs one node for one record. */
export interface OneLookup {
  /** The name of the command, which the ledger shows as the flow that spent the lookup's credits. */
  readonly command: string;
  /** Undefined options are left out. */
  readonly node: JsonObject & { readonly type: string; readonly connection?: string };
  readonly fields: Fields;
  readonly options: SessionOptions;
}

/** Looks up one record as a run does, with credits, rate limits, retries and the cache. Null if there is nothing to look up. */
export async function lookUpOne(
  { command, node, fields, options }: OneLookup,
  messages: Messages,
): Promise<LookupDocument | Failure | null> {
  if (node.connection !== undefined) findSaved(node.connection);
  const plan = await lookupPlan(command, node, options.allowHttp ?? false);
  const [step] = plan.steps as [Step];
  const session = await openSession(useOf(plan, command, options.env), options, messages);
  try {
    const { ports } = session;
    const chains = new ChainMaker(plan, ports, new Gates(ports.clock));
    const row = await chains.firstRow(step, { number: 1, fields, end: { offset: 0, line: 0 } });
    return row instanceof Failure ? row : (row.get('document') as LookupDocument | null);
  } finally {
    await session.close();
  }
}

/** Compiles a flow with one node that saves its complete result in the field `document`. */
async function lookupPlan(command: string, node: OneLookup['node'], allowHttp: boolean): Promise<Plan> {
  const flow = { name: command, nodes: [{ id: node.type, ...node, map: { document: '$body' } }] };
  await loadNodeTypesIn(node.type);
  const options = { allowHttp, textCells: true, savedConnections: () => readConnections(process.env) };
  try {
    return await withData(dataFolder, () =>
      compile(JSON.stringify(flow), {
        file: command,
        nodeTypes,
        ...options,
      }),
    );
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    const [first = error, ...others] = error.problems;
    throw errorOf(error.kind === 'credential' ? 'credential' : 'usage', others.length === 0 ? first : error);
  }
}

export class ChainMaker {
  readonly #phase = new RunPhase();
  readonly #gates: RunGates;
  readonly #tools: Omit<ChainTools, 'partialRows'>;

  constructor({ steps }: Plan, ports: WiredPorts, gates: Gates) {
    const phase = this.#phase;
    this.#gates = new RunGates(gates, phase);
    const calls = new Calls({ ports, phase, gates: this.#gates, giveUp: undefined, continues: false });
    const batches = new Batches({ steps: allSteps(steps), clock: ports.clock, calls, input: () => 'ended' });
    this.#tools = { ports, phase, calls, batches };
  }

  /** No further step can run afterwards. */
  close(): void {
    this.#gates.close();
  }

  /** Throws an AutomateError if the step produces no output record. */
  async firstRow(step: Step, item: Item): Promise<Fields | Failure> {
    const rows: Fields[] = [];
    const chain = new Chain({ steps: [step] }, { ...this.#tools, partialRows: () => gatherInto(rows) });
    try {
      const passed = await chain.pass(item, new RecordProgress());
      const [first] = 'drop' in passed ? rows : passed;
      if (first) return first;
    } catch (error) {
      const { reason } = this.#phase;
      if (error instanceof Unfinished && reason) throw errorOf(reason.ending === 'refused-credential' ? 'credential' : 'credits', reason);
      return asFailure(error);
    }
    throw new AutomateError('input', 'a node before this one drops the record', { code: 'record-dropped', details: {} });
  }
}

function gatherInto(rows: Fields[]): PartialRows {
  return {
    get rows() {
      return rows.length;
    },
    async add(added) {
      for (const row of added) rows.push(row);
    },
    drop: () => undefined,
  };
}

/** Throws a limit that would end a run as an AutomateError. Rethrows other errors. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof LimitReached) throw errorOf(error.ending === 'max-credits' ? 'credits' : 'credential', error);
  throw error;
}

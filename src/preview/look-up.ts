import { errorOf, Failure, FlowError } from '../core/failure.ts';
import type { Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import type { SessionOptions } from '../core/run-options.ts';
import type { JsonObject } from '../core/value/value.ts';
import { readConnections } from '../credentials/connections-file.ts';
import type { Messages } from '../credentials/messages.ts';
import { Gates } from '../engine/gates.ts';
import { compile, withData } from '../flow/compile.ts';
import { dataFolder } from '../places/late-lookups.ts';
import type { LookupDocument } from '../places/lookup.ts';
import { nodeTypes } from '../run/node-types.ts';
import { findSaved } from '../run/saved-connections.ts';
import { openSession, useOf } from '../run/session.ts';
import { ChainMaker } from './chain-maker.ts';

/** A lookup that a command makes, such as `geocode`. It runs one node for one record. */
export interface OneLookup {
  /** The name of the command, which the ledger shows as the flow that spent the lookup's credits. */
  readonly command: string;
  /** The options of the lookup node. Undefined options are left out. */
  readonly node: JsonObject & { readonly type: string; readonly connection?: string };
  readonly fields: Fields;
  readonly options: SessionOptions;
}

/**
 * Looks up one record as a run does, with credits, rate limits, retries and the cache. Returns the answer as a document, a Failure if
 * there is no answer, or null if the record has nothing to look up.
 */
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

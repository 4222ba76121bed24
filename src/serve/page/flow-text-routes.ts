import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { FlowError } from '../../core/failure.ts';
import { type Action, type Node, Unasked } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { isObject, orUndefined, type Value } from '../../core/value/value.ts';
import { createClock } from '../../files/clock.ts';
import { writeDurably } from '../../files/state-file.ts';
import { type MapText, nodeTexts, withMap } from '../../flow/map-text.ts';
import { compileFlow } from '../../run/flow-file.ts';
import type { ServedFlow } from '../../run/flow-folder.ts';
import { addRoute } from '../app.ts';
import { Caller } from '../caller.ts';
import { problemJson } from '../flow-json.ts';
import { ProblemResponse } from '../problem.ts';
import { seenFlow } from '../routes/key-door.ts';
import type { Server } from '../server.ts';
import type { PageOptions } from './page-options.ts';

/** Not z.record, which would drop a field named `__proto__`. */
const mapBody = z.strictObject({ map: z.custom<MapText>(isTexts, 'expected an object whose values are strings') });

const mapParams = z.object({ flow: z.string(), node: z.string() });

const page = new Caller(undefined);

/** Saving a node's map changes only the map, and leaves the rest of the file the same, byte for byte. */
export function addFlowTextRoutes(app: FastifyInstance, server: Server, { edit }: PageOptions): void {
  addRoute(app, 'GET', '/ui/flows/:flow/text', { handler: async (request) => editableText(await seenFlow(server, page, request)) });
  if (!edit) return;
  // Two saves never run at the same time. Otherwise both could start from the same text, and one change would be lost.
  let saved: Promise<unknown> = Promise.resolve();
  addRoute(app, 'PUT', '/ui/flows/:flow/nodes/:node/map', {
    schema: { params: mapParams, body: mapBody },
    handler: async (request, reply) => {
      const flow = await seenFlow(server, page, request);
      const save = saved.then(() => saveMap(server, flow, request));
      saved = save.catch(() => undefined);
      await save;
      server.audit(page, request, 'map.save', flow.id);
      return reply.code(204).send();
    },
  });
}

function isTexts(value: unknown): boolean {
  return isObject(value as Value) && Object.values(value as object).every((text) => typeof text === 'string');
}

export interface FlowText {
  /** ETag of the whole flow file. Saving is refused if the file has changed since it was read. */
  readonly etag: string;
  readonly file: string;
  /** Null for a flow that is not valid, because a secret might be written in it. */
  readonly text: string | null;
  /** Only of nodes that send requests. */
  readonly requests: readonly NodeRequest[];
  readonly nodes: readonly {
    readonly id: string;
    readonly yaml: string;
    /** The node's map; null if the web page cannot edit it. */
    readonly map: Readonly<Record<string, string>> | null;
  }[];
}

function editableText({ path, text, plan }: ServedFlow): FlowText {
  const steps = plan?.steps ?? [];
  const nodes = nodeTexts(text).map(({ yaml, map }, index) => {
    const step = steps[index];
    return { id: step?.id ?? String(index + 1), yaml, map: step?.node.action ? (map ?? null) : null };
  });
  return { etag: etagOf(text), file: basename(path), text: plan ? text : null, requests: plan ? nodeRequests(plan) : [], nodes };
}

function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

async function saveMap(server: Server, { id, path, plan }: ServedFlow, request: FastifyRequest): Promise<void> {
  const { node } = request.params as z.output<typeof mapParams>;
  const { map } = request.body as z.output<typeof mapBody>;
  const index = plan?.steps.findIndex((step) => step.id === node && step.node.action) ?? -1;
  if (index < 0) throw new ProblemResponse('not-found', `there is no node "${node}" with a map in ${id}`);
  const text = await readFile(path, 'utf8');
  if (request.headers['if-match'] !== etagOf(text)) throw new ProblemResponse('changed-meanwhile', `${id} was changed since it was read`);
  if (nodeTexts(text)[index]?.map === undefined)
    throw new ProblemResponse('bad-request', 'the map contains more than fields and paths: change it in the file');
  const changed = withMap(text, index, map);
  await refuseInvalid(server, path, changed);
  const { mode } = await stat(path);
  await writeDurably(path, changed, mode & 0o777);
}

async function refuseInvalid({ shared: { allowHttp, env, withoutFiles } }: Server, path: string, text: string): Promise<void> {
  try {
    await compileFlow(text, path, { allowHttp, withoutFiles, textCells: false, env, caller: 'later' });
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    const errors = error.problems.map((problem) => problemJson(problem, path));
    throw new ProblemResponse('flow-invalid', 'the flow would not be valid with this map; nothing was saved', { errors });
  }
}

/** The request of a node, such as `GET https://api.example.com/users/{{id}}`. For a tool of an MCP server, `url` is its name. */
export interface NodeRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
}

/** The request of each node that sends one, for a reader: with references to fields, and without what only a record can tell. */
function nodeRequests(plan: Plan): NodeRequest[] {
  return allSteps(plan.steps).flatMap(({ id, node }) => {
    const { action } = node;
    const request = action && (action.written ?? orUndefined(() => exampleRequest(action, node)));
    return request ? [{ id, ...request }] : [];
  });
}

/** Undefined for a node that looks something up in local data. Throws a Failure if no request can be made without a record. */
function exampleRequest(action: Action, { reads }: Node): Omit<NodeRequest, 'id'> | undefined {
  const fields = new Map(reads.map(({ field }) => [field, `{{${field}}}`]));
  const request = action.prepare(fields, createClock());
  if (request instanceof Unasked) return undefined;
  if (!('kind' in request)) return { method: request.method, url: request.origin + request.path.replace(/\?.*/s, '') };
  return request.kind === 'tool' ? { method: 'tool', url: request.tool } : undefined;
}

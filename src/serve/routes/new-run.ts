import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { type OptionType, optionsWith, runOptions } from '../../core/run-options.ts';
import { textKinds } from '../../records/formats.ts';
import { fieldName } from '../advice.ts';
import { addRoute } from '../app.ts';
import type { Caller } from '../caller.ts';
import { queryWithVariables, variablesIn } from '../flow-variables.ts';
import type { NamedRequest } from '../idempotency.ts';
import { storedKey } from '../runs/paying.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import type { ServedRun } from '../runs/served-run.ts';
import { errorsFormatOf, type StoredOptions, type StoredRun } from '../runs/stored-run.ts';
import { type BodyFormat, bodyFormat, checkUpload, declaredBytes, storeBody, uploadTypes } from '../runs/upload.ts';
import type { Server } from '../server.ts';
import { runShape } from '../shapes.ts';
import { type Audience, preferredWait, type SeenFlow, seenFlow } from './key-door.ts';
import { namedRequest, requestHash } from './replays.ts';

const askable = optionsWith('http', true);

const shapeOf = ({ expected, choices, parse }: OptionType<unknown>) =>
  (choices ? z.enum(choices) : z.string()).transform((text, context) => {
    const value = parse(text);
    if (value === undefined) context.addIssue(`expected ${expected}, found "${text}"`);
    return value;
  });

/** Schema of the query of a request for a new run or a plan. */
export const newRunQuery = queryWithVariables({
  out: z.enum(textKinds).optional(),
  ...Object.fromEntries(askable.map((name) => [fieldName(name), shapeOf(runOptions[name].type).optional()])),
});

/** Makes the server leave bodies unparsed, whatever their content type, so that handlers can read them as streams. */
export function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

/** Adds the route that creates runs. Bodies can be larger than memory, because they are written to disk as they arrive. */
export function addNewRunRoute(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  void app.register(async (uploads) => {
    acceptBodies(uploads);
    addRoute(uploads, 'POST', `${base}/flows/:flow/runs`, {
      config: { scopes: ['run'], takes: uploadTypes, headers: ['Idempotency-Key', 'Prefer', 'Content-Encoding'] },
      schema: { summary: 'Store records and run them', querystring: newRunQuery, response: { 202: runShape, 200: runShape } },
      handler: (request, reply) => postRun(server, { base, callerOf }, request, reply),
    });
  });
}

async function postRun(server: Server, { base, callerOf }: Audience, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const caller = callerOf(request);
  const flow = await seenFlow(server, caller, request);
  const waitS = preferredWait(request, 0);
  const { run, isReplayed } = await newRun(server, request, flow, caller);
  if (isReplayed) reply.header('idempotency-replayed', 'true');
  else server.audit(caller, request, 'run.start', run.id);
  if (waitS !== undefined) {
    reply.header('preference-applied', `wait=${waitS}`);
    await server.endOf(run, waitS * 1000);
  }
  return reply
    .code(waitS !== undefined && !run.isOpen ? 200 : 202)
    .header('location', `${base}/runs/${run.id}`)
    .send(run.json(base));
}

interface RunRequestBody {
  readonly run: ServedRun;
  readonly isReplayed: boolean;
}

async function newRun(server: Server, request: FastifyRequest, flow: SeenFlow, caller: Caller): Promise<RunRequestBody> {
  const body = bodyFormat(request.headers);
  const options = givenOptions(request, body);
  const { out } = request.query as { readonly out?: StoredRun['format'] };
  const inputFormat = `${body.kind}${body.isGzip ? '.gz' : ''}`;
  const { maxUpload: maxBytes } = server.limits;
  const { id, folder, space } = await server.runs.newFolder(caller.key, Math.min(declaredBytes(request), maxBytes));
  folder.create();
  try {
    const { bytes, hash } = await storeBody(request.raw, folder.input(inputFormat), body, { maxBytes, space });
    const named = namedRequest(request, caller, flow.id, 'run');
    const once = { named, hash: requestHash(hash, JSON.stringify(request.query), inputFormat), id };
    return await onceFor(server, once, folder, async () => {
      await checkUpload({ flow, folder, inputFormat, options, key: caller.key }, server.shared);
      const stored = {
        id,
        flow: flow.id,
        key: storedKey(caller.key),
        options,
        inputFormat,
        format: out ?? errorsFormatOf(body.kind),
        bytes,
        retryOf: null,
      };
      return server.runs.add(stored, folder);
    });
  } catch (error) {
    await folder.delete();
    throw error;
  } finally {
    space.release();
  }
}

/** The options that the caller of a new run or a plan gave. */
export function givenOptions({ query }: FastifyRequest, { charset, noHeader }: BodyFormat): StoredOptions {
  const given = variablesIn(query);
  const values = query as Readonly<Record<string, unknown>>;
  const options = Object.fromEntries(askable.map((name) => [name, values[fieldName(name)]]));
  return { var: given.length > 0 ? given : undefined, encoding: charset, ...options, ...(noHeader && { noHeader }) };
}

/** Creates a run, but only one for each Idempotency-Key. `id` is the id of the new run. */
async function onceFor(
  { idempotency, runs }: Server,
  { named, hash, id }: { readonly named: NamedRequest | undefined; readonly hash: string; readonly id: string },
  folder: RunFolder,
  make: () => Promise<ServedRun>,
): Promise<RunRequestBody> {
  if (!named) return { run: await make(), isReplayed: false };
  const earlier = idempotency.beginRun(named, hash, id, (found) => runs.find(found));
  if (earlier) {
    await folder.delete();
    return { run: earlier, isReplayed: true };
  }
  try {
    const run = await make();
    // The run has been started, so the request must not fail from here on.
    idempotency.endRun(named);
    return { run, isReplayed: false };
  } catch (error) {
    idempotency.forget(named);
    throw error;
  }
}

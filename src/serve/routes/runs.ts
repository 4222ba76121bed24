import { createReadStream } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { maxErrorsArgument } from '../../cli/arguments.ts';
import { statOf } from '../../io/files/stat.ts';
import { addRoutes } from '../app.ts';
import type { Caller } from '../caller.ts';
import type { NamedRequest } from '../idempotency.ts';
import { Problem } from '../problem.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import { sendEvents, sendGrowing } from '../runs/run-streams.ts';
import { keyOf } from '../runs/runs.ts';
import type { ServedRun } from '../runs/served-run.ts';
import type { StoredOptions } from '../runs/stored-run.ts';
import { bodyFormat, checkBody, storeBody } from '../runs/upload.ts';
import type { Server } from '../server.ts';
import { runShape, runStates } from '../shapes.ts';
import { hashOf, namedRequest } from './replays.ts';
import { type Audience, preferredWait, seenFlow } from './v1.ts';

const runParams = z.object({ id: z.string() });

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);

const maxErrors = z.string().transform((text, context) => {
  try {
    return maxErrorsArgument(text);
  } catch (error) {
    context.addIssue((error as Error).message);
    return z.NEVER;
  }
});

/** The query of a new run. */
const newRunQuery = z.strictObject({
  out: z.enum(['csv', 'tsv', 'json', 'ndjson']).optional(),
  delimiter: z.string().optional(),
  limit: wholeNumber.optional(),
  skip: wholeNumber.optional(),
  max_errors: maxErrors.optional(),
  max_credits: wholeNumber.optional(),
  unordered: z.enum(['true', 'false', '']).optional(),
});

const listQuery = z.strictObject({
  flow: z.string().optional(),
  state: z.enum(runStates).optional(),
  key: z.string().optional(),
  limit: wholeNumber.pipe(z.number().min(1).max(200)).default(50),
  cursor: z.string().optional(),
});

/** Adds the routes of runs. */
export function addRunRoutes(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  const runOf = (request: FastifyRequest) => seenRun(server, callerOf(request), request);
  addNewRun(app, server, { base, callerOf });
  addRoutes(app, `${base}/runs`, {
    GET: {
      config: { scopes: ['run', 'read'] },
      schema: {
        summary: 'The runs, newest first',
        querystring: listQuery,
        response: { 200: z.object({ runs: z.array(runShape), next_cursor: z.string().nullable() }) },
      },
      handler: async (request, reply) => {
        return listRuns(server, callerOf(request), base, request, reply);
      },
    },
  });
  addRoutes(app, `${base}/runs/:id`, {
    GET: {
      config: { scopes: ['run', 'read'] },
      schema: { summary: 'One run', params: runParams, response: { 200: runShape } },
      handler: async (request) => runOf(request).json(base),
    },
    DELETE: {
      config: { scopes: ['run'] },
      schema: { summary: 'Delete a run and its files', params: runParams, response: { 204: z.null() } },
      handler: async (request, reply) => {
        await server.runs.delete(runOf(request));
        return reply.code(204).send();
      },
    },
  });
  addRoutes(app, `${base}/runs/:id/events`, {
    GET: {
      config: { scopes: ['run', 'read'] },
      schema: { summary: 'The progress of a run as Server-sent events', params: runParams },
      handler: async (request, reply) => {
        const run = runOf(request);
        const last = Number(request.headers['last-event-id'] ?? Number.NaN);
        if (run.events.hasEnded && last >= run.events.lastId) return reply.code(204).send();
        server.listen(callerOf(request), reply.raw);
        sendEvents(run, reply, Number.isNaN(last) ? undefined : last);
        return reply;
      },
    },
  });
  addFiles(app, server, { base, callerOf }, runOf);
  addActions(app, server, { base, callerOf }, runOf);
}

type FindRun = (request: FastifyRequest) => ServedRun;

const fileQuery = z.strictObject({ follow: z.enum(['true', 'false', '']).optional() });

const mediaTypes = {
  csv: 'text/csv; charset=utf-8',
  tsv: 'text/tab-separated-values; charset=utf-8',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

function addFiles(app: FastifyInstance, server: Server, { base, callerOf }: Audience, runOf: FindRun): void {
  addRoutes(app, `${base}/runs/:id/output`, {
    GET: {
      config: { scopes: ['run', 'read'] },
      schema: { summary: 'The output of a run', params: runParams, querystring: fileQuery },
      handler: async (request, reply) => {
        const run = runOf(request);
        const { follow } = request.query as z.output<typeof fileQuery>;
        const { format, state } = run.stored;
        const headers = fileHeaders(`${run.stored.flow}-output.${format}`, mediaTypes[format]);
        const path = run.folder.output(format);
        if (follow === 'true' || follow === '') {
          server.listen(callerOf(request), reply.raw);
          await sendGrowing(run, path, reply, headers);
          return reply;
        }
        if (isOpen(run)) throw new Problem('run-state', `the run is ${state}: its output is not complete; take ?follow=true`, { state });
        return sendFile(path, reply, headers);
      },
    },
  });
  addRoutes(app, `${base}/runs/:id/errors`, {
    GET: {
      config: { scopes: ['run', 'read'] },
      schema: { summary: 'The failed records of a run', params: runParams },
      handler: async (request, reply) => {
        const run = runOf(request);
        const { state, inputFormat } = run.stored;
        if (isOpen(run)) throw new Problem('run-state', `the run is ${state}: its failed records are not complete`, { state });
        const format = inputFormat.replace(/\.gz$/, '') as keyof typeof mediaTypes;
        return sendFile(run.folder.errors(inputFormat), reply, fileHeaders(`${run.stored.flow}-errors.${format}`, mediaTypes[format]));
      },
    },
  });
}

function addActions(app: FastifyInstance, server: Server, { base, callerOf }: Audience, runOf: FindRun): void {
  addRoutes(app, `${base}/runs/:id/stop`, {
    POST: {
      config: { scopes: ['run'] },
      schema: { summary: 'Stop a run; what is finished is written', params: runParams, response: { 202: runShape, 200: runShape } },
      handler: async (request, reply) => {
        const run = runOf(request);
        return reply.code((await server.runs.stop(run)) ? 202 : 200).send(run.json(base));
      },
    },
  });
  addRoutes(app, `${base}/runs/:id/resume`, {
    POST: {
      config: { scopes: ['run'] },
      schema: { summary: 'Go on with a run that stopped early', params: runParams, response: { 202: runShape } },
      handler: async (request, reply) => {
        const run = runOf(request);
        await server.runs.resume(run);
        return reply.code(202).send(run.json(base));
      },
    },
  });
  addRoutes(app, `${base}/runs/:id/retry`, {
    POST: {
      config: { scopes: ['run'] },
      schema: { summary: 'Run the failed records again, as a new run', params: runParams, response: { 202: runShape } },
      handler: async (request, reply) => {
        const run = await server.runs.retry(runOf(request), callerOf(request).key);
        return reply.code(202).header('location', `${base}/runs/${run.id}`).send(run.json(base));
      },
    },
  });
}

function addNewRun(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  // Bodies of any size: they go to disk as they come.
  void app.register(async (uploads) => {
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser('*', (_request, _payload, done) => done(null));
    addRoutes(uploads, `${base}/flows/:flow/runs`, {
      POST: {
        config: { scopes: ['run'] },
        schema: { summary: 'Store records and run them', querystring: newRunQuery, response: { 202: runShape, 200: runShape } },
        handler: async (request, reply) => {
          const caller = callerOf(request);
          const flow = await seenFlow(server, caller, request);
          const waitS = preferredWait(request, 0, 60);
          const { run, isReplayed } = await newRun(server, { request, flow, caller });
          if (isReplayed) reply.header('idempotency-replayed', 'true');
          if (waitS !== undefined) {
            reply.header('preference-applied', `wait=${waitS}`);
            await Promise.race([server.endOf(run), new Promise((resolve) => setTimeout(resolve, waitS * 1000))]);
          }
          return reply
            .code(waitS !== undefined && !isOpen(run) ? 200 : 202)
            .header('location', `${base}/runs/${run.id}`)
            .send(run.json(base));
        },
      },
    });
  });
}

interface Asked {
  readonly request: FastifyRequest;
  readonly flow: Awaited<ReturnType<typeof seenFlow>>;
  readonly caller: Caller;
}

interface NewRun {
  readonly run: ServedRun;
  /** True for the run of an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
}

async function newRun(server: Server, { request, flow, caller }: Asked): Promise<NewRun> {
  const { out, delimiter, limit, skip, max_errors, max_credits, unordered } = request.query as z.output<typeof newRunQuery>;
  const body = bodyFormat(request.headers);
  const options: StoredOptions = {
    ...(delimiter !== undefined && { delimiter }),
    ...(body.charset !== undefined && { encoding: body.charset }),
    ...(limit !== undefined && { limit }),
    ...(skip !== undefined && { skip }),
    ...(max_errors !== undefined && { maxErrors: max_errors }),
    ...(max_credits !== undefined && { maxCredits: max_credits }),
    ...(unordered !== undefined && { unordered: unordered !== 'false' }),
  };
  const inputFormat = `${body.kind}${body.isGzip ? '.gz' : ''}`;
  const { id, folder } = await server.runs.newFolder();
  folder.create();
  try {
    const { bytes, hash } = await storeBody(request.raw, folder.input(inputFormat), body, server.limits.maxUpload);
    const named = namedRequest(request, caller, flow.id, 'run');
    return await onceFor(server, named, hashOf(hash, JSON.stringify(request.query), inputFormat), folder, async () => {
      await checkBody({ flow, folder, inputFormat, options }, server.shared);
      const given = { id, flow: flow.id, key: keyOf(caller.key), options, inputFormat, format: out ?? body.kind, bytes, retryOf: null };
      return server.runs.add(given, folder);
    });
  } catch (error) {
    await folder.delete();
    throw error;
  }
}

/** Makes a run once for each Idempotency-Key. */
async function onceFor(
  { idempotency, runs }: Server,
  named: NamedRequest | undefined,
  hash: string,
  folder: RunFolder,
  make: () => Promise<ServedRun>,
): Promise<NewRun> {
  const kept = named && idempotency.begin(named, hash);
  if (kept) {
    await folder.delete();
    const run = runs.find(kept.body);
    if (!run) throw new Problem('not-found', 'the run of this Idempotency-Key was deleted');
    return { run, isReplayed: true };
  }
  try {
    const run = await make();
    if (named) idempotency.end(named, hash, { status: 202, type: '', body: run.id });
    return { run, isReplayed: false };
  } catch (error) {
    if (named) idempotency.forget(named);
    throw error;
  }
}

function listRuns(server: Server, caller: Caller, base: string, request: FastifyRequest, reply: FastifyReply) {
  const { flow, state, key, limit, cursor } = request.query as z.output<typeof listQuery>;
  const matching = server.runs
    .all()
    .filter(({ stored }) => caller.seesRun(stored))
    .filter(({ id }) => cursor === undefined || id < cursor)
    .filter(({ stored }) => (flow ?? stored.flow) === stored.flow && (state ?? stored.state) === stored.state)
    .filter(({ stored }) => key === undefined || stored.key?.id === key);
  const runs = matching.slice(0, limit);
  const next = matching.length > limit ? (runs.at(-1)?.id ?? null) : null;
  if (next !== null) {
    const query = new URLSearchParams({ ...(request.query as Record<string, string>), limit: String(limit), cursor: next });
    reply.header('link', `<${base}/runs?${query}>; rel="next"`);
  }
  return { runs: runs.map((run) => run.json(base)), next_cursor: next };
}

function seenRun(server: Server, caller: Caller, request: FastifyRequest): ServedRun {
  const { id } = request.params as { id: string };
  const run = server.runs.find(id);
  if (!run || !caller.seesRun(run.stored)) throw new Problem('not-found', `there is no run "${id}"`);
  return run;
}

function isOpen({ stored: { state } }: ServedRun): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping';
}

function fileHeaders(name: string, type: string): Record<string, string> {
  return { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` };
}

function sendFile(path: string, reply: FastifyReply, headers: Record<string, string>): FastifyReply {
  const size = statOf(path)?.size;
  if (size === undefined) throw new Problem('not-found', 'the run has written no such file');
  return reply.headers({ ...headers, 'content-length': size }).send(createReadStream(path));
}

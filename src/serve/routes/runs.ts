import { createReadStream } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { statOf } from '../../files/stat.ts';
import { flowId } from '../../run/flow-folder.ts';
import { addRoute, addRoutes } from '../app.ts';
import type { Caller } from '../caller.ts';
import { ProblemResponse } from '../problem.ts';
import { runId } from '../runs/run-folder.ts';
import { eventsType, sendEvents, sendGrowing } from '../runs/run-streams.ts';
import type { ServedRun } from '../runs/served-run.ts';
import { shownRow, shownRows } from '../runs/shown-rows.ts';
import { errorsFormatOf, payerOf } from '../runs/stored-run.ts';
import type { Server } from '../server.ts';
import { rowShape, rowsShape, runListShape, runShape, runStates } from '../shapes.ts';
import { keyId } from '../store/key-value.ts';
import { type Audience, wholeNumber } from './key-door.ts';

const runParams = z.object({ id: z.string() });

/** An unknown flow or API key is not an error, because it might have been deleted. */
const listQuery = z.strictObject({
  flow: z.string().regex(flowId, 'expected the id of a flow').optional(),
  state: z.enum(runStates).optional(),
  key: z.string().regex(keyId, 'expected the id of a key').optional(),
  limit: wholeNumber.pipe(z.number().min(1).max(200)).default(50),
  cursor: z.string().regex(runId, 'expected the next_cursor of an answer').optional(),
});

export function addRunRoutes(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  const runOf = (request: FastifyRequest) => seenRun(server, callerOf(request), request);
  const ownRunOf = (request: FastifyRequest) => {
    const run = runOf(request);
    callerOf(request).needOwn(run.stored);
    return run;
  };
  addRoute(app, 'GET', `${base}/runs`, {
    config: { scopes: ['run', 'read'] },
    schema: {
      summary: 'The runs, newest first',
      querystring: listQuery,
      response: { 200: runListShape },
    },
    handler: async (request, reply) => listRuns(server, { base, callerOf }, request, reply),
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
        const run = ownRunOf(request);
        await server.runs.delete(run);
        server.audit(callerOf(request), request, 'run.delete', run.id);
        return reply.code(204).send();
      },
    },
  });
  addRoute(app, 'GET', `${base}/runs/:id/events`, {
    config: { scopes: ['run', 'read'], headers: ['Last-Event-ID'] },
    schema: { summary: 'The progress of a run as Server-sent events', params: runParams },
    handler: async (request, reply) => {
      const run = runOf(request);
      const last = Number(request.headers['last-event-id'] ?? Number.NaN);
      if (run.events.hasEnded && last >= run.events.lastId) return reply.code(204).send();
      if (request.method === 'HEAD') return reply.header('content-type', eventsType).send();
      server.listen(callerOf(request), reply.raw);
      sendEvents(run, reply, Number.isNaN(last) ? undefined : last);
      return reply;
    },
  });
  addFiles(app, server, { base, callerOf }, runOf);
  addRows(app, base, runOf);
  addReport(app, base, runOf);
  addActions(app, server, { base, callerOf }, runOf, ownRunOf);
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
  addRoute(app, 'GET', `${base}/runs/:id/output`, {
    config: { scopes: ['run', 'read'] },
    schema: { summary: 'The output of a run', params: runParams, querystring: fileQuery },
    handler: async (request, reply) => {
      const run = runOf(request);
      const { follow } = request.query as z.output<typeof fileQuery>;
      const { format, state } = run.stored;
      const headers = fileHeaders(`${run.stored.flow}-output.${format}`, mediaTypes[format]);
      const path = run.folder.output(format);
      if (follow === 'true' || follow === '') {
        if (request.method === 'HEAD') return reply.headers(headers).send();
        server.listen(callerOf(request), reply.raw);
        await sendGrowing(run, path, reply, headers);
        return reply;
      }
      if (run.isOpen)
        throw new ProblemResponse('run-state', `the run is ${state}: its output is not complete yet; use ?follow=true`, { state });
      return sendFile(path, reply, headers);
    },
  });
  addRoute(app, 'GET', `${base}/runs/:id/errors`, {
    config: { scopes: ['run', 'read'] },
    schema: { summary: 'The failed records of a run', params: runParams },
    handler: async (request, reply) => {
      const run = runOf(request);
      const { state, inputFormat } = run.stored;
      if (run.isOpen)
        throw new ProblemResponse('run-state', `the run is ${state}: its list of failed records is not complete yet`, { state });
      const format = errorsFormatOf(inputFormat);
      return sendFile(run.folder.errors(inputFormat), reply, fileHeaders(`${run.stored.flow}-errors.${format}`, mediaTypes[format]));
    },
  });
}

const rowCount = wholeNumber.pipe(z.number().max(100)).default(100);

const fileOfRows = z.enum(['output', 'errors']).default('output');

const rowsQuery = z.strictObject({ of: fileOfRows, first: rowCount, last: rowCount });

const rowParams = runParams.extend({ at: wholeNumber });

/** Adds the routes that show rows of a run without its files, which can be large. Unlike the files, they are there while it is under way. */
function addRows(app: FastifyInstance, base: string, runOf: FindRun): void {
  addRoute(app, 'GET', `${base}/runs/:id/rows`, {
    config: { scopes: ['run', 'read'] },
    schema: { summary: 'The first and the last rows of a run', params: runParams, querystring: rowsQuery, response: { 200: rowsShape } },
    handler: async (request) => {
      const { of, ...wanted } = request.query as z.output<typeof rowsQuery>;
      return shownRows(runOf(request), of, wanted);
    },
  });
  addRoute(app, 'GET', `${base}/runs/:id/rows/:at`, {
    config: { scopes: ['run', 'read'] },
    schema: {
      summary: 'One row of a run with its whole cells',
      params: rowParams,
      querystring: z.strictObject({ of: fileOfRows }),
      response: { 200: rowShape },
    },
    handler: async (request) => {
      const { of } = request.query as z.output<typeof rowsQuery>;
      return shownRow(runOf(request), of, (request.params as z.output<typeof rowParams>).at);
    },
  });
}

/** The Content-Security-Policy of a report, which allows inline styles but no scripts. */
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/** Adds the route for a run's report as one HTML file, and a route for the report's data, which only the web page uses. */
function addReport(app: FastifyInstance, base: string, runOf: FindRun): void {
  addRoute(app, 'GET', `${base}/runs/:id/report`, {
    config: { scopes: ['run', 'read'] },
    schema: { summary: 'The page of an ended run as one HTML file', params: runParams },
    handler: async (request, reply) => {
      const { folder, stored, isOpen } = runOf(request);
      if (isOpen)
        throw new ProblemResponse('run-state', `the run is ${stored.state}: its report is written when the run ends`, {
          state: stored.state,
        });
      const headers = fileHeaders(`${stored.flow}.html`, 'text/html; charset=utf-8');
      return sendFile(folder.report, reply, { ...headers, 'content-security-policy': reportPolicy });
    },
  });
  if (base !== '/ui') return;
  addRoute(app, 'GET', `${base}/runs/:id/view`, {
    handler: async (request, reply) => {
      const view = await runOf(request).view();
      return view ?? reply.code(204).send();
    },
  });
}

const resumeQuery = z.strictObject({ charge: z.literal('me').optional() });

function addActions(app: FastifyInstance, server: Server, { base, callerOf }: Audience, runOf: FindRun, ownRunOf: FindRun): void {
  addRoute(app, 'POST', `${base}/runs/:id/stop`, {
    config: { scopes: ['run'] },
    schema: { summary: 'Stop a run; what is finished is written', params: runParams, response: { 202: runShape, 200: runShape } },
    handler: async (request, reply) => {
      const { stored } = runOf(request);
      // An API key that pays for another key's run may stop that run.
      const run = callerOf(request).owns({ key: payerOf(stored) }) ? runOf(request) : ownRunOf(request);
      const isStopped = await server.runs.stop(run);
      if (isStopped) server.audit(callerOf(request), request, 'run.stop', run.id);
      return reply.code(isStopped ? 202 : 200).send(run.json(base));
    },
  });
  addRoute(app, 'POST', `${base}/runs/:id/resume`, {
    config: { scopes: ['run'] },
    schema: { summary: 'Resume a run that stopped early', params: runParams, querystring: resumeQuery, response: { 202: runShape } },
    handler: async (request, reply) => {
      const caller = callerOf(request);
      const isCharged = (request.query as z.output<typeof resumeQuery>).charge !== undefined;
      const run = isCharged ? runOf(request) : ownRunOf(request);
      await server.runs.resume(run, caller, isCharged);
      server.audit(caller, request, run.stored.payer === undefined ? 'run.start' : 'run.charge', run.id);
      return reply.code(202).send(run.json(base));
    },
  });
  addRoute(app, 'POST', `${base}/runs/:id/retry`, {
    config: { scopes: ['run'] },
    schema: { summary: 'Run the failed records again, as a new run', params: runParams, response: { 202: runShape } },
    handler: async (request, reply) => {
      const run = await server.runs.retry(ownRunOf(request), callerOf(request).key);
      server.audit(callerOf(request), request, 'run.start', run.id);
      return reply.code(202).header('location', `${base}/runs/${run.id}`).send(run.json(base));
    },
  });
}

function listRuns(server: Server, { base, callerOf }: Audience, request: FastifyRequest, reply: FastifyReply) {
  const caller = callerOf(request);
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
  if (!run || !caller.seesRun(run.stored)) throw new ProblemResponse('not-found', `there is no run "${id}"`);
  return run;
}

function fileHeaders(name: string, type: string): Record<string, string> {
  return { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` };
}

function sendFile(path: string, reply: FastifyReply, headers: Record<string, string>): FastifyReply {
  const size = statOf(path)?.size;
  if (size === undefined) throw new ProblemResponse('not-found', 'the run has written no such file');
  return reply.headers({ ...headers, 'content-length': size }).send(createReadStream(path));
}

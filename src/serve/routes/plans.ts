import { type Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type * as z from 'zod';
import { isTable } from '../../app/input/input.ts';
import { selectRecords } from '../../app/input/selected-records.ts';
import { createMessages } from '../../app/messages.ts';
import { createLateLookups } from '../../app/ports/late-lookups.ts';
import { requestValue } from '../../app/preview/preview.ts';
import { Forecaster } from '../../engine/forecast/forecast.ts';
import { openSource } from '../../io/records/readers/source.ts';
import { addRoutes } from '../app.ts';

import type { Caller } from '../caller.ts';

import { problemJson } from '../flows/flow-json.ts';
import { planWithVariables, variablesIn } from '../flows/flow-variables.ts';
import { Problem } from '../problem.ts';
import { type BodyFormat, bodyFormat, maxRecordBytes, maxUnpacked, unreadableBody, uploadTypes } from '../runs/upload.ts';
import type { Server } from '../server.ts';
import { type PlanShape, planShape } from '../shapes.ts';
import { type Audience, seenFlow } from './audience.ts';
import { acceptBodies, newRunQuery } from './new-run.ts';

/** Adds the route of plans. Bodies may have any size: they are read as they come, and not stored. */
export function addPlanRoute(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  void app.register(async (streams) => {
    acceptBodies(streams);
    addRoutes(streams, `${base}/flows/:flow/plans`, {
      POST: {
        config: { scopes: ['run'], takes: uploadTypes, headers: ['Content-Encoding'] },
        schema: {
          summary: 'What a run over these records would do; sends nothing',
          querystring: newRunQuery,
          response: { 200: planShape },
        },
        handler: (request, reply) => planInPlace(server, callerOf(request), request, reply),
      },
    });
  });
}

type Flow = Awaited<ReturnType<typeof seenFlow>>;

async function planInPlace(server: Server, caller: Caller, request: FastifyRequest, reply: FastifyReply): Promise<PlanShape> {
  const flow = await seenFlow(server, caller, request);
  const gone = new AbortController();
  reply.raw.once('close', () => reply.raw.writableEnded || gone.abort());
  const place = { owner: caller.key?.id ?? '', gone: gone.signal };
  return server.plans.within(place, () => runPlan(server, flow, request, gone.signal));
}

/** `gone`: aborted when the client has left, which ends the plan. */
async function runPlan({ shared, limits }: Server, flow: Flow, request: FastifyRequest, gone: AbortSignal): Promise<PlanShape> {
  const { delimiter, records, sheet, limit, skip } = request.query as z.output<typeof newRunQuery>;
  const body = bodyFormat(request.headers);
  const format = { kind: body.kind, gzip: false };
  const { allowHttp, env } = shared;
  const given = variablesIn(request.query);
  const plan = await planWithVariables({ flow, given }, { allowHttp, textCells: isTable(format), env });
  const { stdin, failed, breakOff } = unpackedBody(request, body, limits.maxUpload);
  gone.addEventListener('abort', breakOff, { once: true });
  const forecaster = new Forecaster(plan, { maxRequests: 1, lookups: createLateLookups() });
  try {
    const { charset: encoding } = body;
    const source = await openSource({ path: '-', format, stdin, stdinName: 'body', delimiter, sheet, encoding, records, maxRecordBytes });
    const problems = isTable(format) ? plan.unknownFields(source.columns ?? []) : [];
    if (problems.length > 0) {
      const errors = problems.map((problem) => problemJson(problem, flow.path));
      throw new Problem('input-unreadable', `the columns of the body do not satisfy ${flow.id}: ${errors[0]?.message}`, {
        line: 1,
        errors,
      });
    }
    const options = { ...(limit !== undefined && { limit }), ...(skip !== undefined && { skip }) };
    for await (const items of selectRecords(source, { options, plan, format })) {
      for (const item of items) await forecaster.add(item);
      // Lets other requests in, and the end of the connection be seen.
      await new Promise((resolve) => setImmediate(resolve));
      if (gone.aborted) break;
    }
  } catch (error) {
    throw failed() ?? unreadableBody(error);
  }
  return planJson(forecaster);
}

function planJson(forecaster: Forecaster): PlanShape {
  const { records, actions, credits, requests } = forecaster.forecast();
  const [first] = requests;
  const { redactor } = createMessages();
  return {
    records,
    actions: bounds(actions),
    credits: bounds(credits),
    first_request: first ? (redactor.value(requestValue(first)) as Record<string, unknown>) : null,
  };
}

function bounds({ least, most }: { readonly least: number; readonly most: number }) {
  return { least, most: Number.isFinite(most) ? most : null };
}

/** The body, unpacked and limited like the body of a run. `failed`: the Problem that ended the body; readers wrap it in their own error. `breakOff`: ends it. */
function unpackedBody(request: FastifyRequest, { isGzip }: BodyFormat, maxBytes: number) {
  let problem: Problem | undefined;
  const fail = (found: Problem) => {
    problem ??= found;
    return problem;
  };
  const planTooLarge = () => fail(new Problem('too-large', `expected a body of at most ${maxBytes} bytes`, { limit: maxBytes }));
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw planTooLarge();
  const steps: Transform[] = [limited(maxBytes, planTooLarge)];
  if (isGzip) steps.push(createGunzip(), limited(maxBytes * maxUnpacked, planTooLarge));
  const stdin = steps.reduce<Readable>((from, to) => {
    // A pipe does not pass on errors. The request stays open for the answer.
    if (from !== request.raw) from.once('error', (error) => to.destroy(error));
    return from.pipe(to);
  }, request.raw);
  const breakOff = () => {
    const error = fail(new Problem('bad-request', 'the body broke off'));
    for (const step of steps) step.destroy(error);
  };
  request.raw.once('close', () => request.raw.complete || breakOff());
  return { stdin, failed: () => problem, breakOff };
}

/** Counts a body that is not stored. */
function limited(maxBytes: number, planTooLarge: () => Problem): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return done(null, chunk);
      return done(planTooLarge());
    },
  });
}

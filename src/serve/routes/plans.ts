import { type Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createMessages } from '../../credentials/messages.ts';
import { createClock } from '../../files/clock.ts';
import { selectRecords } from '../../output/selected-records.ts';
import { createLateLookups } from '../../places/late-lookups.ts';
import { Forecaster } from '../../preview/forecast/forecast.ts';
import { requestValue } from '../../preview/preview.ts';
import { traitsOf } from '../../records/formats.ts';
import { withFlowNames } from '../../records/inputs.ts';
import { openSource } from '../../records/source.ts';
import { addRoute } from '../app.ts';
import type { Caller } from '../caller.ts';
import { planWithVariables } from '../flow-variables.ts';
import { ProblemResponse } from '../problem.ts';
import { type BodyFormat, bodyFormat, maxRecordBytes, maxUnpacked, refuseColumns, unreadableBody, uploadTypes } from '../runs/upload.ts';
import type { Server } from '../server.ts';
import { type PlanShape, planShape } from '../shapes.ts';
import { type Audience, type SeenFlow, seenFlow } from './key-door.ts';
import { acceptBodies, givenOptions, newRunQuery } from './new-run.ts';

/** Plans forecast a run. Bodies can be larger than memory, because they are read as they arrive and not stored. */
export function addPlanRoute(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  void app.register(async (streams) => {
    acceptBodies(streams);
    addRoute(streams, 'POST', `${base}/flows/:flow/plans`, {
      config: { scopes: ['run'], takes: uploadTypes, headers: ['Content-Encoding'] },
      schema: {
        summary: 'What a run over these records would do; sends nothing',
        querystring: newRunQuery,
        response: { 200: planShape },
      },
      handler: (request, reply) => planInPlace(server, callerOf(request), request, reply),
    });
  });
}

async function planInPlace(server: Server, caller: Caller, request: FastifyRequest, reply: FastifyReply): Promise<PlanShape> {
  const flow = await seenFlow(server, caller, request);
  const gone = new AbortController();
  reply.raw.once('close', () => reply.raw.writableEnded || gone.abort());
  const place = { owner: caller.key?.id ?? '', gone: gone.signal };
  return server.plans.within(place, () => runPlan(server, flow, request, gone.signal));
}

/** `gone` is aborted when the client disconnects, which ends the work. */
async function runPlan({ shared, limits }: Server, flow: SeenFlow, request: FastifyRequest, gone: AbortSignal): Promise<PlanShape> {
  const body = bodyFormat(request.headers);
  const { var: given = [], ...options } = givenOptions(request, body);
  const format = { kind: body.kind, gzip: false };
  const { allowHttp, env } = shared;
  const plan = await planWithVariables({ flow, given }, { allowHttp, textCells: traitsOf(format).hasHeader, env });
  const { stdin, failed, breakOff } = unpackedBody(request, body, limits.maxUpload);
  gone.addEventListener('abort', breakOff, { once: true });
  const forecaster = new Forecaster(plan, { clock: createClock(), maxRequests: 1, lookups: createLateLookups() });
  try {
    const body = await openSource({ path: '-', format, stdin, stdinName: 'body', ...options, maxRecordBytes });
    refuseColumns(body.header, plan, flow, options);
    const source = await withFlowNames(body, plan, flow.path);
    for await (const items of selectRecords(source, { options, plan, format })) {
      for (const item of items) await forecaster.add(item);
      // Lets the event loop process other requests, and notice that the client has disconnected.
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

/**
 * Returns the body of a request, decompressed and limited in size. If a Problem ends the body, its readers throw an error of their own, and
 * `failed` returns the Problem. `breakOff` ends the body.
 */
function unpackedBody(request: FastifyRequest, { isGzip }: BodyFormat, maxBytes: number) {
  let problem: ProblemResponse | undefined;
  const fail = (found: ProblemResponse) => {
    problem ??= found;
    return problem;
  };
  const planTooLarge = () => fail(new ProblemResponse('too-large', `expected a body of at most ${maxBytes} bytes`, { limit: maxBytes }));
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw planTooLarge();
  const steps: Transform[] = [limited(maxBytes, planTooLarge)];
  if (isGzip) steps.push(createGunzip(), limited(maxBytes * maxUnpacked, planTooLarge));
  const stdin = steps.reduce<Readable>((from, to) => {
    // `pipe` does not forward errors, so they are forwarded here. The request itself must not be destroyed, because the response must still
    // be sent.
    if (from !== request.raw) from.once('error', (error) => to.destroy(error));
    return from.pipe(to);
  }, request.raw);
  const breakOff = () => {
    const error = fail(new ProblemResponse('bad-request', 'the body was cut off'));
    for (const step of steps) step.destroy(error);
  };
  request.raw.once('close', () => request.raw.complete || breakOff());
  return { stdin, failed: () => problem, breakOff };
}

function limited(maxBytes: number, planTooLarge: () => ProblemResponse): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return done(null, chunk);
      return done(planTooLarge());
    },
  });
}

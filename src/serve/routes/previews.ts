import { Transform } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { loadFlow } from '../../cli/flow/flow-file.ts';
import { isTable } from '../../cli/input-options.ts';
import { createLateLookups } from '../../cli/places/late-lookups.ts';
import { selectRecords } from '../../cli/run/selected-records.ts';
import { createQuietTerminal } from '../../cli/serve/quiet-terminal.ts';
import { previewValue, requestValue } from '../../cli/show/preview.ts';
import { previewRecord } from '../../cli/test-request/preview-record.ts';
import { chosenStep } from '../../cli/test-request/test-request.ts';
import { AutomateError } from '../../core/failure.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';
import { Forecaster } from '../../engine/forecast/forecast.ts';
import { openSource } from '../../io/records/readers/source.ts';
import { addRoutes } from '../app.ts';
import type { LetInKey } from '../caller.ts';
import { asProblem, validPlan } from '../calls/calls.ts';
import { problemJson } from '../flows/flow-json.ts';
import { fieldsOf, textOfBody } from '../json-body.ts';
import { Problem } from '../problem.ts';
import { bodyFormat } from '../runs/upload.ts';
import type { Server } from '../server.ts';
import { planShape } from '../shapes.ts';
import { type Audience, seenFlow } from './audience.ts';
import { sendText } from './replays.ts';

const testBody = z.strictObject({
  record: z.any().meta({ type: 'object', description: 'one record' }),
  node: z.string().optional().meta({ description: 'the node to test; the first that sends a request by default' }),
  send: z.boolean().default(true).meta({ description: 'false sends nothing' }),
});

/** Adds the routes that show what a flow would do: tests of one request, and plans. */
export function addPreviewRoutes(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  addRoutes(app, `${base}/flows/:flow/tests`, {
    POST: {
      config: { scopes: ['test'] },
      schema: { summary: 'Send one request of a flow, and show its answer', params: z.object({ flow: z.string() }), body: testBody },
      handler: async (request, reply) => {
        const caller = callerOf(request);
        const text = await testText(server, await seenFlow(server, caller, request), request, caller.key);
        return sendText(reply, { status: 200, type: 'application/json; charset=utf-8', body: text });
      },
    },
  });
  void app.register(async (streams) => {
    streams.removeAllContentTypeParsers();
    streams.addContentTypeParser('*', (_request, _payload, done) => done(null));
    addRoutes(streams, `${base}/flows/:flow/plans`, {
      POST: {
        config: { scopes: ['run'] },
        schema: { summary: 'What a run over these records would do; sends nothing', response: { 200: planShape } },
        handler: async (request) => {
          const caller = callerOf(request);
          return runPlan(server, await seenFlow(server, caller, request), request);
        },
      },
    });
  });
}

type Flow = Awaited<ReturnType<typeof seenFlow>>;

async function testText({ shared }: Server, flow: Flow, request: FastifyRequest, key: LetInKey | undefined): Promise<string> {
  const { record, node, send } = request.body as z.output<typeof testBody>;
  if (!isObject(record as Value))
    throw new Problem('bad-request', 'expected an object in "record"', { errors: [{ pointer: '/record', detail: 'expected an object' }] });
  const terminal = createQuietTerminal();
  const plan = validPlan(flow);
  const fields = fieldsOf(record as JsonObject, textOfBody(request.body));
  try {
    const step = chosenStep(plan, node);
    const item = { number: 1, fields, end: { offset: 0, line: 0 } };
    const options = {
      set: [],
      send,
      allowHttp: shared.allowHttp,
      ...(shared.env !== undefined && { env: shared.env }),
      ...(shared.cacert !== undefined && { cacert: shared.cacert }),
    };
    const { preview } = await previewRecord({ plan, flow: flow.path, step, item, options }, terminal, { ...shared, key });
    const action = step.node.action;
    return jsonOf(terminal.redactor.value(action ? previewValue(preview, action, false) : null));
  } catch (error) {
    if (error instanceof AutomateError && (error.kind === 'usage' || error.kind === 'input'))
      throw new Problem('bad-request', error.message);
    return asProblem(flow)(error);
  }
}

async function runPlan({ shared, limits }: Server, flow: Flow, request: FastifyRequest): Promise<z.output<typeof planShape>> {
  validPlan(flow);
  const { kind, isGzip, charset } = bodyFormat(request.headers);
  const format = { kind, gzip: isGzip };
  const plan = await loadFlow(flow.path, { allowHttp: shared.allowHttp, textCells: isTable(format), name: flow.id }).catch(asProblem(flow));
  const stdin = request.raw.pipe(limited(limits.maxUpload));
  const forecaster = new Forecaster(plan, { maxRequests: 1, lookups: createLateLookups() });
  try {
    const source = await openSource({ path: '-', format, stdin, ...(charset !== undefined && { encoding: charset }) });
    const problems = isTable(format) ? plan.unknownFields(source.columns ?? []) : [];
    if (problems.length > 0) {
      const errors = problems.map((problem) => problemJson(problem, flow.path));
      throw new Problem('input-unreadable', `the columns of the body do not satisfy ${flow.id}: ${errors[0]?.message}`, {
        line: 1,
        errors,
      });
    }
    for await (const items of selectRecords(source, { options: {}, plan, format })) for (const item of items) await forecaster.add(item);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    const line = Number(/:(\d+)/.exec(error.message)?.[1] ?? Number.NaN);
    throw new Problem('input-unreadable', error.message.replace('<stdin>', 'body'), { line: Number.isNaN(line) ? null : line });
  }
  const { records, actions, credits, requests } = forecaster.forecast();
  const [first] = requests;
  const { redactor } = createQuietTerminal();
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

/** Counts a body that is not stored. */
function limited(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return done(null, chunk);
      return done(new Problem('too-large', `expected a body of at most ${maxBytes} bytes`, { limit: maxBytes }));
    },
  });
}

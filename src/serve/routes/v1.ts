import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { AutomateError, Failure } from '../../core/failure.ts';
import { isObject, type JsonObject, type Value } from '../../core/value/value.ts';
import { createMessages } from '../../credentials/messages.ts';
import { previewValue } from '../../preview/preview.ts';
import { chosenStep, previewRecord } from '../../preview/preview-record.ts';
import { messageForClient } from '../advice.ts';
import { addRoute } from '../app.ts';
import type { LetInKey } from '../caller.ts';
import { asProblem, failureProblem } from '../calls.ts';
import { flowJsonText } from '../flow-json.ts';
import { planOfCall, planWithVariables, queryWithVariables, variablesIn } from '../flow-variables.ts';
import { fieldsForFlow, fieldsOf, recordOfBody, textOfBody } from '../json-body.ts';
import { ProblemResponse } from '../problem.ts';
import type { Server } from '../server.ts';
import { callShape, flowShape } from '../shapes.ts';
import { type Audience, preferredWait, type SeenFlow, seenFlow } from './key-door.ts';
import { addNewRunRoute } from './new-run.ts';
import { addPlanRoute } from './plans.ts';
import { answerOnce, jsonType, namedRequest, requestHash, sendText } from './replays.ts';
import { addRunRoutes } from './runs.ts';

const flowParams = z.object({ flow: z.string() });

export function addFlowRoutes(app: FastifyInstance, server: Server, audience: Audience): void {
  const { base, callerOf } = audience;
  addRoute(app, 'GET', `${base}/flows`, {
    schema: { summary: 'The flows', response: { 200: z.object({ flows: z.array(flowShape) }) } },
    handler: async (request, reply) => {
      const { flows } = await server.flows.list();
      const caller = callerOf(request);
      const texts = flows.filter(({ id }) => caller.sees(id)).map(flowJsonText);
      return sendText(reply, { status: 200, type: jsonType, body: `{"flows":[${texts.join(',')}]}` });
    },
  });
  addRoute(app, 'GET', `${base}/flows/:flow`, {
    schema: { summary: 'One flow', params: flowParams, response: { 200: flowShape } },
    handler: async (request, reply) => {
      const flow = await seenFlow(server, callerOf(request), request);
      return sendText(reply, { status: 200, type: jsonType, body: flowJsonText(flow) });
    },
  });
  addRoute(app, 'POST', `${base}/flows/:flow/calls`, {
    config: { scopes: ['run'], headers: ['Idempotency-Key', 'Prefer'] },
    schema: {
      summary: 'Run one record, and wait for its records',
      params: flowParams,
      querystring: queryWithVariables({}),
      body: z.any().meta({ type: 'object', description: 'one record' }),
      response: { 200: callShape },
    },
    handler: async (request, reply) => {
      const caller = callerOf(request);
      const flow = await seenFlow(server, caller, request);
      const gone = new AbortController();
      reply.raw.once('close', () => reply.raw.writableEnded || gone.abort());
      const waitMs = (preferredWait(request, 1) ?? 30) * 1000;
      const given = variablesIn(request.query);
      const plan = () => planOfCall({ flow, given }, server.shared);
      const fields = fieldsForFlow(recordOfBody(request.body), flow);
      const call = { flow, given, plan, fields, key: caller.key, waitMs, gone: gone.signal };
      const named = namedRequest(request, caller, flow.id, 'call');
      const hash = requestHash(textOfBody(request.body), ...given.flat());
      return answerOnce(server, named, { request, reply, hash }, async () => (await server.calls.answer(call)).text);
    },
  });
  addTestRoute(app, server, audience);
  addPlanRoute(app, server, audience);
  addNewRunRoute(app, server, audience);
  addRunRoutes(app, server, audience);
}

const testBody = z.strictObject({
  record: z
    .any()
    .refine((value: Value) => isObject(value), 'expected one record: a JSON object')
    .meta({ type: 'object', description: 'one record' }),
  node: z.string().optional().meta({ description: 'the node to test; the first that sends a request by default' }),
  send: z.boolean().default(true).meta({ description: 'false sends nothing' }),
});

function addTestRoute(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  addRoute(app, 'POST', `${base}/flows/:flow/tests`, {
    config: { scopes: ['test'] },
    schema: {
      summary: 'Send one request of a flow, and show its answer',
      params: z.object({ flow: z.string() }),
      querystring: queryWithVariables({}),
      body: testBody,
    },
    handler: async (request, reply) => {
      const caller = callerOf(request);
      const text = await testText(server, await seenFlow(server, caller, request), request, caller.key);
      return sendText(reply, { status: 200, type: jsonType, body: text });
    },
  });
}

async function testText({ shared }: Server, flow: SeenFlow, request: FastifyRequest, key: LetInKey | undefined): Promise<string> {
  const { record, node, send } = request.body as z.output<typeof testBody>;
  const messages = createMessages();
  const { allowHttp, env } = shared;
  const plan = await planWithVariables({ flow, given: variablesIn(request.query) }, { allowHttp, env, textCells: false });
  const fields = fieldsForFlow(fieldsOf(record as JsonObject, textOfBody(request.body)), { plan });
  try {
    const step = chosenStep(plan, node);
    const item = { number: 1, fields, end: { offset: 0, line: 0 } };
    const options = {
      set: [],
      send,
      allowHttp: shared.allowHttp,
      env: shared.env,
      cacert: shared.cacert,
      files: shared.files,
    };
    const { preview } = await previewRecord({ plan, flow: flow.path, step, item, options }, messages, { ...shared, key });
    const action = step.node.action;
    return messages.redactor.jsonOf(action ? previewValue(preview, action) : null);
  } catch (error) {
    // If the cause is a Failure, the record itself is not valid, and nothing was sent.
    const { cause } = error as Error;
    if (cause instanceof Failure) throw failureProblem(cause, messages.redactor, 0);
    if (error instanceof AutomateError && (error.kind === 'usage' || error.kind === 'input'))
      throw new ProblemResponse('bad-request', messageForClient(error));
    return asProblem(flow)(error);
  }
}

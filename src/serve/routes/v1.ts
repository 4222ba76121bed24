import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { addRoutes } from '../app.ts';
import { flowJsonText } from '../flow-json.ts';
import { planOfCall, queryWithVariables, variablesIn } from '../flow-variables.ts';
import { recordOfBody, textOfBody } from '../json-body.ts';
import type { Server } from '../server.ts';
import { callShape, flowShape } from '../shapes.ts';
import { type Audience, preferredWait, seenFlow } from './key-door.ts';
import { addNewRunRoute } from './new-run.ts';
import { addPlanRoute } from './plans.ts';
import { addTestRoute } from './record-tests.ts';
import { answerOnce, jsonType, namedRequest, requestHash, sendText } from './replays.ts';
import { addRunRoutes } from './runs.ts';

const flowParams = z.object({ flow: z.string() });

export function addFlowRoutes(app: FastifyInstance, server: Server, audience: Audience): void {
  const { base, callerOf } = audience;
  addRoutes(app, `${base}/flows`, {
    GET: {
      schema: { summary: 'The flows', response: { 200: z.object({ flows: z.array(flowShape) }) } },
      handler: async (request, reply) => {
        const { flows } = await server.flows.list();
        const caller = callerOf(request);
        const texts = flows.filter(({ id }) => caller.sees(id)).map(flowJsonText);
        return sendText(reply, { status: 200, type: jsonType, body: `{"flows":[${texts.join(',')}]}` });
      },
    },
  });
  addRoutes(app, `${base}/flows/:flow`, {
    GET: {
      schema: { summary: 'One flow', params: flowParams, response: { 200: flowShape } },
      handler: async (request, reply) => {
        const flow = await seenFlow(server, callerOf(request), request);
        return sendText(reply, { status: 200, type: jsonType, body: flowJsonText(flow) });
      },
    },
  });
  addRoutes(app, `${base}/flows/:flow/calls`, {
    POST: {
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
        const waitMs = (preferredWait(request, 1, 60) ?? 30) * 1000;
        const given = variablesIn(request.query);
        const plan = () => planOfCall({ flow, given }, server.shared);
        const call = { flow, given, plan, fields: recordOfBody(request.body), key: caller.key, waitMs, gone: gone.signal };
        const named = namedRequest(request, caller, flow.id, 'call');
        const hash = requestHash(textOfBody(request.body), ...given.flat());
        return answerOnce(server, named, { request, reply, hash }, async () => (await server.calls.answer(call)).text);
      },
    },
  });
  addTestRoute(app, server, audience);
  addPlanRoute(app, server, audience);
  addNewRunRoute(app, server, audience);
  addRunRoutes(app, server, audience);
}

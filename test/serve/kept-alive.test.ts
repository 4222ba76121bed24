import { Agent, type IncomingMessage, request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askedServer, askingFlow } from '../helpers/asking.ts';
import { type Serving, servingHere as serving } from '../helpers/serving.ts';

const flow = 'nodes: [{ type: set, fields: { x: "{{id}}" } }]\n';
const large = Buffer.alloc(900_000, 'not gzip ');

/** Creates a function that sends all requests over the same connection. */
function overOne({ address }: Serving) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (path: string, method: string, headers: Record<string, string> = {}, body?: Buffer) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(address + path, { agent, method, headers }, (answer: IncomingMessage) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode));
      });
      sent.setTimeout(30_000, () => sent.destroy(new Error('no answer')));
      sent.once('error', reject);
      sent.end(body);
    });
}

describe('an HTTP connection to the server', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ['a run that is not gzip', '/v1/flows/set/runs', { 'content-encoding': 'gzip' }, 422],
    ['a plan that is not gzip', '/v1/flows/set/plans', { 'content-encoding': 'gzip' }, 422],
    ['a run that is too large', '/v1/flows/set/runs', { 'transfer-encoding': 'chunked' }, 413],
    ['a plan that is too large', '/v1/flows/set/plans', { 'transfer-encoding': 'chunked' }, 413],
    ['a run with an unsupported content type', '/v1/flows/set/runs', { 'content-type': 'image/png' }, 415],
    ['a run of an unknown flow', '/v1/flows/other/runs', {}, 404],
  ])('stays usable after a refused request: %s', async (_, path, more, status) => {
    const server = await serving({ set: flow }, { args: ['--max-upload', '100kB'] });
    const send = overOne(server);
    const body = status === 422 ? large.subarray(0, 99_000) : large;
    const length: Record<string, string> = 'transfer-encoding' in more ? {} : { 'content-length': String(body.length) };
    const headers = { authorization: `Bearer ${server.key()}`, 'content-type': 'text/csv', ...length, ...more };
    for (let round = 0; round < 2; round++) {
      expect(await send(path, 'POST', headers, body)).toBe(status);
      expect(await send('/healthz', 'GET')).toBe(200);
    }
  });
});

test("a HEAD request for a run's events or output gets a response before the run ends", async () => {
  const { origin, hold } = await askedServer();
  const release = hold();
  const server = await serving({ ask: askingFlow(origin) }, { args: ['--allow-http'] });
  const key = server.key();
  const made = await server.send('/v1/flows/ask/runs', {
    key,
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: 'id\n1\n2\n',
  });
  const { id } = (await made.json()) as { id: string };
  for (const path of ['events', 'output?follow=true']) {
    const answer = await server.send(`/v1/runs/${id}/${path}`, { key, method: 'HEAD', signal: AbortSignal.timeout(30_000) });
    expect(answer.status).toBe(200);
  }
  expect(await (await server.send(`/v1/runs/${id}`, { key })).json()).toMatchObject({ state: 'running' });
  release();
});

import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import type { CodedMessage } from '../../src/core/error-code.ts';
import { AutomateError, invalidOption } from '../../src/core/failure.ts';
import { ExactNumber } from '../../src/core/value/value.ts';
import { inputError } from '../../src/records/record-reader.ts';
import { messageForClient } from '../../src/serve/advice.ts';
import { createApp } from '../../src/serve/app.ts';
import { problemOfError } from '../../src/serve/broken-request.ts';
import { Hosts } from '../../src/serve/listening.ts';
import { askingFlow } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { posting, type Serving, servingHere as serving } from '../helpers/serving.ts';

const setFlow = 'nodes: [{ type: set, fields: { b: "{{a}}!" } }]';

interface Refusal {
  readonly type: string;
  readonly detail: string;
  readonly expected?: readonly string[];
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

const refusal = async (answer: Response) => ({ status: answer.status, ...((await answer.json()) as Refusal) });

const csv = { 'content-type': 'text/csv' };

/** Sends records to a route of the flow `a`. */
function upload(
  { send }: Serving,
  key: string,
  route: string,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Record<string, string> = csv,
) {
  return send(`/v1/flows/a/${route}`, { key, method: 'POST', body, headers });
}

describe('the query of a request to the server', () => {
  test('is refused with a 400 that names the parameter if a parameter is unknown or invalid', async () => {
    const { send, key } = await serving({ a: setFlow });
    const all = key({ scopes: ['run', 'read', 'test'] });
    const paths = ['usage?month=2026-10', 'flows?x=1', 'flows/a?x', 'openapi.json?x=1', 'runs?x=1', 'runs/x/events?x=1', 'runs?cursor=foo'];
    for (const path of [...paths, 'runs?flow=a.b', 'runs?key=nope', 'runs?limit=0', 'runs?state=done']) {
      const { status, errors } = await refusal(await send(`/v1/${path}`, { key: all }));
      const name = /\?(\w+)/.exec(path)?.[1];
      expect([path, status, errors?.map(({ pointer }) => pointer)]).toEqual([path, 400, [`/${name}`]]);
    }
    expect((await send('/v1/flows/a/calls?x=1', { key: all, ...posting({ a: 1 }) })).status).toBe(400);
    for (const path of ['runs?flow=gone', 'runs?key=key_01234567890123456'])
      expect(await (await send(`/v1/${path}`, { key: all })).json()).toEqual({ runs: [], next_cursor: null });
  });
});

describe('the headers of a request to the server', () => {
  test.each(['charset="', 'charset=utf-8;x', 'charset=', 'charset="utf-8', 'charset=utf 8'])(
    'are refused if the Content-Type has the parameter %s',
    async (parameter) => {
      const server = await serving({ a: setFlow });
      const answer = await upload(server, server.key(), 'runs', 'a\n1\n', { 'content-type': `text/csv; ${parameter}` });
      expect(await refusal(answer)).toMatchObject({
        status: 415,
        detail: expect.stringMatching(/^expected parameters such as charset=utf-8/),
      });
    },
  );

  test.each(['charset=latin1', 'charset="utf-8"', 'header=present; Charset=UTF-8;'])(
    'are accepted if the Content-Type has the parameter %s',
    async (parameter) => {
      const server = await serving({ a: setFlow });
      const headers = { 'content-type': `text/csv; ${parameter}`, prefer: 'wait=30' };
      expect((await upload(server, server.key(), 'runs', 'a\n1\n', headers)).status).toBe(200);
    },
  );

  test('say that the first row of a CSV is a record if the Content-Type has the parameter header=absent', async () => {
    const server = await serving({ a: setFlow.replaceAll('{{a}}', '{{column_1}}') });
    const headers = { 'content-type': 'text/csv; header=Absent', prefer: 'wait=30' };
    expect(await (await upload(server, server.key(), 'runs', 'a\n1\n', headers)).json()).toMatchObject({ counts: { read: 2, written: 2 } });
  });

  test('may name gzip x-gzip', async () => {
    const server = await serving({ a: setFlow });
    const headers = { 'content-type': 'text/csv', 'content-encoding': 'X-Gzip', prefer: 'wait=30' };
    const answer = await upload(server, server.key(), 'runs', gzipSync('a\n1\n2\n'), headers);
    expect(await answer.json()).toMatchObject({ counts: { read: 2, written: 2 } });
  });

  test('are refused with a 417 in the usual error format if Expect is not 100-continue', async () => {
    const { address } = await serving({ a: setFlow });
    const { hostname, port } = new URL(address);
    const text = await new Promise<string>((resolve, reject) => {
      let found = '';
      const socket = connect(Number(port), hostname, () =>
        socket.write(`GET /healthz HTTP/1.1\r\nHost: ${hostname}:${port}\r\nExpect: tea\r\n\r\n`),
      );
      socket
        .on('data', (bytes) => (found += bytes))
        .on('end', () => resolve(found))
        .on('error', reject);
    });
    expect(text).toMatch(/^HTTP\/1.1 417 .*application\/problem\+json.*"status":417/s);
  });
});

describe('the body of a request to the server', () => {
  test('is refused with a clear message if a long number replaces a different type', () => {
    const schema = z.object({ limit: z.number(), name: z.string() });
    const given = { limit: new ExactNumber('12345678901234567890'), name: new ExactNumber('1.50') };
    const { error } = validatorCompiler({ schema, method: 'POST', url: '/' })(given) as { readonly error: unknown };
    const { detail } = problemOfError(Object.assign(new Error('invalid'), { validation: error, validationContext: 'body' }));
    expect(detail).toBe('body: "limit": expected number, found a number with too many digits; "name": expected string, found number');
  });

  test('is refused if it is compressed JSON or JSON that is not UTF-8', async () => {
    const { origin, requests } = await httpServer((_request, response) => json(response, {}));
    const { send, key } = await serving({ a: askingFlow(origin) });
    const one = key();
    const post = (body: Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) =>
      send('/v1/flows/a/calls', { key: one, method: 'POST', body, headers: { 'content-type': 'application/json', ...more } });
    const wrong = await refusal(await post(Buffer.from('{"id":"\xff"}', 'latin1')));
    expect(wrong).toMatchObject({ status: 400, type: '/problems/bad-request', detail: expect.stringContaining('UTF-8') });
    const packed = await refusal(await post(gzipSync('{"id":1}'), { 'content-encoding': 'gzip' }));
    expect(packed).toMatchObject({ status: 415, detail: 'expected a body without Content-Encoding, found gzip' });
    expect(requests).toHaveLength(0);
  });

  test('is refused without a Content-Type, and the response lists the types that the route accepts', async () => {
    const server = await serving({ a: setFlow });
    const key = server.key();
    for (const route of ['runs', 'plans'])
      for (const headers of [{ 'content-type': '' }, { 'content-type': 'text' }, { 'content-type': 'image/png' }]) {
        const { status, expected, detail } = await refusal(await upload(server, key, route, Buffer.from('a\n1\n'), headers));
        expect([status, expected?.includes('text/csv'), detail]).toEqual([415, true, expect.stringContaining('text/csv')]);
      }
    expect(await refusal(await upload(server, key, 'calls', '{}', { 'content-type': '' }))).toMatchObject({
      expected: ['application/json'],
    });
  });

  test('is refused with a 400 that names the field if a field is missing or unknown', async () => {
    const { send, key } = await serving({ a: setFlow });
    const one = key({ scopes: ['test'] });
    const told = async (body: unknown) => (await refusal(await send('/v1/flows/a/tests', { key: one, ...posting(body) }))).errors;
    expect(await told({})).toEqual([{ pointer: '/record', detail: 'expected one record: a JSON object' }]);
    expect(await told({ record: [1] })).toEqual([{ pointer: '/record', detail: 'expected one record: a JSON object' }]);
    expect(await told({ record: {}, nodes: 'x' })).toEqual([{ pointer: '/nodes', detail: 'this name is not expected here' }]);
    expect(await told({ record: {}, send: 1 })).toEqual([{ pointer: '/send', detail: 'expected boolean, found number' }]);
  });

  test.each(['content-length: 100', 'transfer-encoding: chunked'])(
    'is given up if the client stops sending (%s), while a slow response is not',
    async (length) => {
      const hosts = new Hosts([], false);
      const app = createApp({ hosts, behindProxy: false, answered: () => undefined, bug: () => undefined, bodyIdleMs: 100 });
      app.post('/slow', async () => new Promise((resolve) => setTimeout(() => resolve({ ok: true }), 400)));
      await app.listen({ host: '127.0.0.1', port: 0 });
      onTestFinished(() => app.close());
      const { port } = app.server.address() as { port: number };
      hosts.port = port;
      const ask = (text: string) =>
        new Promise<string>((resolve) => {
          let got = '';
          const socket = connect(port, '127.0.0.1', () => socket.write(text));
          socket.on('data', (chunk) => {
            got += chunk;
          });
          socket.once('close', () => resolve(got));
        });
      const head = `POST /slow HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n`;
      expect(await ask(`${head}${length}\r\n\r\n`)).toBe('');
      expect(await ask(`${head}content-length: 2\r\nconnection: close\r\n\r\n{}`)).toContain('{"ok":true}');
    },
  );
});

test('a test request gets a 422 if its record lacks a required field', async () => {
  const { origin, requests } = await httpServer((_request, response) => json(response, {}));
  const { send, key } = await serving({ a: askingFlow(origin) });
  const answer = await send('/v1/flows/a/tests', { key: key({ scopes: ['test'] }), ...posting({ record: {} }) });
  expect([answer.status, await answer.json()]).toEqual([
    422,
    expect.objectContaining({ type: '/problems/record-failed', error: expect.objectContaining({ class: 'template' }), credits: 0 }),
  ]);
  expect(requests).toHaveLength(0);
});

describe('a request to plan a run', () => {
  test('accepts the same body and query as a run', async () => {
    const server = await serving({ a: setFlow });
    const key = server.key();
    const plan = async (query: string, body: Uint8Array<ArrayBuffer> | string, more = {}) => {
      const answer = await upload(server, key, `plans${query}`, body, { ...csv, ...more });
      return [answer.status, ((await answer.json()) as { records?: number }).records];
    };
    const rows = 'a;c\n1;1\n2;2\n3;3\n4;4\n5;5\n';
    expect(await plan('?delimiter=%3B', rows)).toEqual([200, 5]);
    expect(await plan('?delimiter=%3B&limit=3', rows)).toEqual([200, 3]);
    expect(await plan('?delimiter=%3B&skip=4', gzipSync(rows), { 'content-encoding': 'gzip' })).toEqual([200, 1]);
    expect(await plan('?foo=3', rows)).toEqual([400, undefined]);
    expect(await plan('?delimiter=%3B&header_line=2', `Report\n${rows}`)).toEqual([200, 5]);
    expect(await plan('?header_line=0', rows)).toEqual([400, undefined]);
    expect(await plan('?ragged', `${rows}6\n`)).toEqual([200, 6]);
    expect(await plan('?trim&escape=%5C', `"a", "b"\n1, "\\"2,"\n`)).toEqual([200, 1]);
    expect(await plan('?escape=ab', rows)).toEqual([400, undefined]);
    expect(await plan('?ragged=maybe', rows)).toEqual([400, undefined]);
    expect(await plan('?delimiter=ab', rows)).toEqual([400, undefined]);
    expect(await plan('', Buffer.from('not gzip'), { 'content-encoding': 'gzip' })).toEqual([422, undefined]);
  });

  test('is refused if its body is too large, before or after decompression', async () => {
    const server = await serving({ a: setFlow }, { args: ['--max-upload', '10KB'] });
    const key = server.key();
    const large = `a\n${'1\n'.repeat(100_000)}`;
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(large));
        controller.close();
      },
    });
    const answers = [
      await upload(server, key, 'plans', large),
      await upload(server, key, 'plans', gzipSync(large), { ...csv, 'content-encoding': 'gzip' }),
      await server.send('/v1/flows/a/plans', { key, method: 'POST', body: chunked, headers: csv, duplex: 'half' } as RequestInit),
    ];
    for (const answer of answers) expect(await refusal(answer)).toMatchObject({ status: 413, type: '/problems/too-large', limit: 10_000 });
    expect((await upload(server, key, 'plans', 'a\n1\n')).status).toBe(200);
  });
});

test('the server responds with 431 to headers that are too large, and with 400 to invalid bytes', async () => {
  const { address } = await serving({ a: setFlow });
  const { hostname, port } = new URL(address);
  const ask = (text: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(text));
      socket.once('data', (chunk) => resolve(String(chunk)));
      onTestFinished(() => void socket.destroy());
    });
  const large = await ask(`GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`);
  expect([large.split('\r\n')[0], large]).toEqual([
    'HTTP/1.1 431 Request Header Fields Too Large',
    expect.stringContaining('"status":431'),
  ]);
  expect(await ask('what?\r\n\r\n')).toContain('HTTP/1.1 400 Bad Request');
});

describe('an error message that the server sends to a client', () => {
  test.each<[string, CodedMessage]>([
    [
      'more than 1 record failed (max_errors=1)',
      { message: 'more than 1 record failed', code: 'option-reached', details: { option: 'maxErrors', value: '1' } },
    ],
    [
      'more than 5 % failed (max_errors=5%)',
      { message: 'more than 5 % failed', code: 'option-reached', details: { option: 'maxErrors', value: '5%' } },
    ],
    ['the 3 credits are used up (max_credits=3)', { message: 'the 3 credits are used up', code: 'max-credits', details: { credits: 3 } }],
    ['delimiter: expected CSV', invalidOption('delimiter', 'expected CSV')],
    ['charset in Content-Type: expected utf-8', invalidOption('encoding', 'expected utf-8')],
    [
      'x has one column\nif ";" separates the cells: delimiter=;',
      { message: 'x has one column', code: 'other-delimiter', details: { delimiter: ';' } },
    ],
    [
      'no x\nif the header is in another line, or there is none: header_line=4 or no_header=true in the query',
      { message: 'no x', code: 'title-above-header', details: {} },
    ],
    ['body: no JSON\nif each line is an object, send it as application/x-ndjson', inputError('body', 'no JSON', { hint: 'ndjson' })],
    [
      "body: no UTF-8\ngive the body's encoding: charset=latin1 in Content-Type",
      inputError('body', 'no UTF-8', { hint: 'not-this-encoding' }),
    ],
    ['body: gzip\nsend it with Content-Encoding: gzip', inputError('body', 'gzip', { hint: 'gzip' })],
    [
      'a.csv:3: no text',
      new AutomateError('input', 'a.csv:3: no text', {
        code: 'input-broken',
        details: { records: 1, written: 1, failed: 0, files: { out: 'out.csv', errors: undefined } },
        cause: inputError('a.csv', 'no text', { line: 3 }),
      }),
    ],
    [
      'out.csv is being written by another run',
      { message: 'out.csv is being written by another run', code: 'being-written', details: { of: 'out' } },
    ],
  ])("contains the request's field instead of a command-line option: %s", (told, coded) => {
    expect(messageForClient(coded)).toBe(told);
  });

  test('mentions nothing that a client cannot send if it is about a run, plan or upload', async () => {
    const server = await serving({ a: setFlow });
    const key = server.key();
    const broken = await upload(server, key, 'runs?unordered', '{"a":1}\n{"a":', {
      'content-type': 'application/x-ndjson',
      prefer: 'wait=30',
    });
    expect(JSON.stringify(await broken.json())).not.toContain('--');
    for (const route of ['runs', 'plans']) {
      const { detail } = await refusal(await upload(server, key, `${route}?delimiter=ab`, 'a\n1\n'));
      expect(detail).toBe('delimiter: expected one character or "tab", found "ab"');
      expect((await refusal(await upload(server, key, `${route}?delimiter=%00`, 'a\n1\n'))).status).toBe(400);
    }
  });
});

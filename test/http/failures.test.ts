import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { failureOf } from '../../src/http/error.ts';
import { rawServer, unusedPort } from '../helpers/raw-server.ts';
import { createSender } from './sending.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const payload = Buffer.from(JSON.stringify({ text: 'x'.repeat(5000), numbers: Array.from({ length: 500 }, (_, i) => i * 7919) }));

/** Starts a server that sends the same bytes on each connection and then closes the connection. */
function saying(bytes: string | Buffer) {
  return rawServer((socket) => void socket.end(bytes));
}

function withBody(headers: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${ok}${headers}\r\n`), body]);
}

describe('a request that cannot be sent', () => {
  test('fails if the connection is refused', async () => {
    const url = `http://127.0.0.1:${await unusedPort()}/`;
    expect(await createSender().failure(url)).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
      status: undefined,
      message: `${url.slice(0, -1)}: the connection was refused (ECONNREFUSED)`,
    });
  });

  test('fails if the host name is unknown', async () => {
    expect(await createSender().failure('http://nowhere.invalid/')).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
      message: expect.stringMatching(/^http:\/\/nowhere\.invalid: the name (?:is not known|could not be looked up) \(DNS\) \(E\w+\)$/),
    });
  });

  test.each([
    ['Expect', '100-continue'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '99'],
    ['Connection', 'a b'],
    ['bad name', 'x'],
  ])('fails if it has a header that HTTP does not allow: %s: %s', async (name, value) => {
    const server = await saying(`${ok}\r\n`);
    const failure = await createSender().failure(server.origin, { method: 'POST', body: '{}', headers: { [name]: value } });
    expect(failure).toMatchObject({ kind: 'request', retryable: false, sent: false });
    expect(failure.message).toMatch(/^the request cannot be sent: \S/);
  });

  test('fails if the connection is never established', async () => {
    const server = await rawServer(() => {});
    // The server does not respond to the TLS handshake.
    const failure = await createSender().failure(server.origin.replace('http:', 'https:'), { timeoutMs: 50 });
    expect(failure).toMatchObject({
      kind: 'timeout',
      retryable: true,
      sent: false,
      message: 'no response within 50 ms: the connection was not made',
    });
  });
});

describe('a request whose connection breaks', () => {
  test('fails if the connection is reset before the response', async () => {
    const server = await rawServer((socket) => socket.resetAndDestroy());
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: true,
      message: `${server.origin}: the connection was reset (ECONNRESET)`,
    });
  });

  test('fails if the connection is reset during the response headers', async () => {
    const server = await rawServer((socket) => socket.write(`${ok}Content-Len`, () => setTimeout(() => socket.resetAndDestroy(), 5)));
    expect(await createSender().failure(server.origin)).toMatchObject({ kind: 'network', retryable: true, sent: true });
  });

  test('fails if the connection is reset during the response body', async () => {
    const server = await rawServer((socket) =>
      socket.write(`${ok}Content-Length: 100\r\n\r\nhalf`, () => setTimeout(() => socket.resetAndDestroy(), 5)),
    );
    expect(await createSender().failure(server.origin)).toMatchObject({ kind: 'network', retryable: true, sent: true });
  });

  test('fails if the connection is closed without a response', async () => {
    const server = await saying('');
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: true,
      message: `${server.origin}: the connection was closed before the answer was complete`,
    });
  });

  test('fails if the server sends a 100 Continue that was not requested', async () => {
    const server = await saying(`HTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 0\r\n\r\n`);
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'network',
      message: `${server.origin}: the server sent an answer that was not requested, such as 100 Continue`,
    });
  });

  test.each([
    ['content-length', withBody('Content-Length: 9000\r\n', payload)],
    ['a Content-Length on a connection that closes anyway', withBody('Content-Length: 9000\r\nConnection: close\r\n', payload)],
    ['chunked', withBody('Transfer-Encoding: chunked\r\n', Buffer.from('5\r\nhello\r\n'))],
    ['within a chunk', withBody('Transfer-Encoding: chunked\r\nConnection: close\r\n', Buffer.from('ff\r\nhello'))],
    ['gzip with content-length', withBody('Content-Encoding: gzip\r\nContent-Length: 900\r\n', gzipSync(payload).subarray(0, 300))],
  ])('fails if the connection ends within a body whose end is announced: %s', async (_name, bytes) => {
    const server = await saying(bytes);
    expect(await createSender().failure(server.origin)).toMatchObject({ kind: 'network', retryable: true, sent: true });
  });

  const cut = (body: Buffer) => body.subarray(0, body.length - 20);
  test.each([
    ['gzip', cut(gzipSync(payload))],
    ['x-gzip', cut(gzipSync(payload))],
    ['deflate', cut(deflateSync(payload))],
    ['br', cut(brotliCompressSync(payload))],
    ['gzip', Buffer.from('this is no gzip')],
    ['gzip', gzipSync(payload).fill(7, 40, 60)],
  ])('fails if a compressed body of unknown length is truncated or damaged: %s', async (encoding, body) => {
    const server = await saying(withBody(`Content-Encoding: ${encoding}\r\n`, body));
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: true,
      status: 200,
      message: expect.stringMatching(`^the ${encoding} body is cut off or damaged: `),
    });
  });
});

describe('an error of the operating system', () => {
  const coded = (code: string, message: string, more: object = {}) => Object.assign(new Error(message), { code, ...more });
  const several = (...errors: Error[]) => Object.assign(new AggregateError(errors), { code: (errors[0] as NodeJS.ErrnoException).code });

  test.each([
    [
      'a timeout after the request was sent',
      coded('ETIMEDOUT', 'read ETIMEDOUT'),
      { kind: 'network', retryable: true, sent: true, message: 'https://a.test: the connection timed out (ETIMEDOUT)' },
    ],
    [
      'an unknown host name',
      coded('ENOTFOUND', 'getaddrinfo ENOTFOUND a.test'),
      { kind: 'network', code: 'unknown-host', message: 'https://a.test: the name is not known (DNS) (ENOTFOUND)' },
    ],
    [
      'errors of several addresses',
      several(coded('EACCES', 'connect EACCES ::1:443'), coded('EPERM', 'connect EPERM 127.0.0.1:443')),
      { kind: 'network', retryable: true, message: 'https://a.test: connect EACCES ::1:443 (EACCES)' },
    ],
    [
      'an expired certificate of a proxy',
      coded('UND_ERR_PRX_TLS', 'Proxy TLS', { cause: coded('CERT_HAS_EXPIRED', 'certificate has expired') }),
      {
        kind: 'network',
        retryable: false,
        message: 'the TLS connection to https://a.test failed: certificate has expired (CERT_HAS_EXPIRED)',
      },
    ],
  ])('is converted to a failure of the right kind: %s', (_name, error, failure) => {
    expect(failureOf(error, { origin: 'https://a.test', wasSent: true })).toMatchObject(failure);
  });
});

describe('a response that is not valid HTTP', () => {
  test.each([
    ['not HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['an invalid status', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['a Content-Length that is not a number', `${ok}Content-Length: many\r\n\r\n`],
    ['a chunk without a valid size', `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ])('makes the request fail: %s', async (_name, bytes) => {
    const server = await saying(bytes);
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: true,
      message: expect.stringMatching(/: the answer is not valid HTTP(?: \(.+\))?$/),
    });
  });

  test('makes the request fail if its headers never end', async () => {
    const server = await rawServer((socket) => {
      socket.write(ok);
      const more = () => socket.write(`X-More: ${'y'.repeat(8000)}\r\n`, (error) => error || setImmediate(more));
      more();
    });
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'network',
      message: `${server.origin}: the answer's headers are too large`,
    });
  });
});

describe('the timeout of an HTTP request', () => {
  const trickling = (start: string) =>
    rawServer((socket) => {
      if (start === '') return;
      socket.write(start);
      trickle(socket, 'x');
    });

  test.each([
    ['never responds', '', 'no response within 800 ms'],
    ['sends a header very slowly', `${ok}X-Slow: `, 'no response within 800 ms'],
    [
      'sends a header very slowly after an informational response',
      `HTTP/1.1 103 Early Hints\r\n\r\n${ok}X-Slow: `,
      'no response within 800 ms',
    ],
    ['sends a body very slowly', `${ok}Content-Length: 100000\r\n\r\n`, 'no response within 800 ms: the body was not complete'],
    ['sends a body without an announced end very slowly', `${ok}\r\n`, 'no response within 800 ms: the body was not complete'],
  ])('ends a request whose server %s', async (_name, start, message) => {
    const server = await trickling(start);
    const startedMs = performance.now();
    const failure = await createSender().failure(server.origin, { timeoutMs: 800 });
    expect(failure).toMatchObject({ kind: 'timeout', retryable: true, sent: true, message });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(799);
  });

  test('can be longer than the maximum of setTimeout', async () => {
    const server = await rawServer((socket) => void setTimeout(() => socket.end(`${ok}Content-Length: 0\r\n\r\n`), 20));
    expect(await createSender().get(server.origin, { timeoutMs: 30 * 24 * 3_600_000 })).toMatchObject({ status: 200 });
  });

  test('does not end other requests', async () => {
    const server = await rawServer((socket, request) => {
      if (request.startsWith('GET /fast')) setTimeout(() => socket.write(`${ok}Content-Length: 0\r\n\r\n`), 60);
    });
    const { get, failure } = createSender();
    const [slow, fast] = await Promise.all([failure(`${server.origin}/slow`, { timeoutMs: 20 }), get(`${server.origin}/fast`)]);
    expect(slow.kind).toBe('timeout');
    expect(fast.status).toBe(200);
  });
});

describe('aborting the HTTP client', () => {
  test('makes the requests in flight and all later requests fail', async () => {
    const server = await rawServer(() => {});
    const { http, failure } = createSender();
    const allowed = { hostFromData: { allowHosts: ['127.0.0.1'] } };
    const underWay = [failure(server.origin), failure(server.origin, allowed)];
    await expect.poll(() => server.connections()).toBe(2);
    http.abort();
    for (const { kind } of await Promise.all(underWay)) expect(kind).toBe('network');
    const later = [
      failure(server.origin),
      failure(server.origin, allowed),
      failure('http://nowhere.invalid', { hostFromData: { allowHosts: [] } }),
    ];
    for (const { kind, message, sent } of await Promise.all(later)) {
      expect({ kind, message, sent }).toEqual({ kind: 'network', message: expect.stringMatching(/: the run has ended$/), sent: false });
    }
    expect(server.connections()).toBe(2);
  });
});

function trickle(socket: Socket, byte: string): void {
  const timer = setInterval(() => socket.write(byte), 20);
  socket.on('close', () => clearInterval(timer));
}

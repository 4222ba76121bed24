import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { httpServer } from '../helpers/http-server.ts';
import { rawServer } from '../helpers/raw-server.ts';
import { createSender, textOf } from './sending.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const text = '{"name":"Zoë","list":[1,2,3]}';

test('the body of an HTTP request is sent in its encoding', async () => {
  const server = await httpServer();
  await createSender().get(server.origin, { method: 'POST', body: 'Zoë', encode: (body) => Buffer.from(body, 'latin1') });
  expect(server.requests[0]).toMatchObject({ body: 'Zo\ufffd', headers: { 'content-length': '3' } });
});

describe('the body of an HTTP response', () => {
  test.each([
    ['gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
    ['aws-chunked,gzip', gzipSync(text)],
    ['gzip, utf-8', gzipSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['deflate, identity, gzip', gzipSync(deflateSync(text))],
  ])('is decompressed if its encoding is "%s"', async (encoding, body) => {
    const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));
    expect(textOf(await createSender().get(server.origin))).toBe(text);
    expect(server.requests[0]?.headers['accept-encoding']).toBe('gzip, deflate, br');
  });

  test.each(['', 'none', 'utf-8', 'UTF8', 'iso-8859-1', 'aws-chunked', '8bit', 'identity, ,none'])(
    'is read as it is if its encoding is no compression: "%s"',
    async (encoding) => {
      const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(text));
      expect(textOf(await createSender().get(server.origin))).toBe(text);
    },
  );

  test('is decompressed if it consists of several gzip members', async () => {
    const server = await httpServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.concat([gzipSync('one '), gzipSync('two')])),
    );
    expect(textOf(await createSender().get(server.origin))).toBe('one two');
  });

  test('is decompressed in a worker thread if it is large', async () => {
    const long = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251));
    const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(long)));
    const { body } = await createSender().get(server.origin);
    expect(Buffer.compare(Buffer.from(body), long)).toBe(0);
  });

  test('can be sent in chunks with a trailer', async () => {
    const server = await rawServer((socket) =>
      socket.write(`${ok}Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n3\r\none\r\n4;x=y\r\n two\r\n0\r\nX-End: 1\r\n\r\n`),
    );
    const response = await createSender().get(server.origin);
    expect(textOf(response)).toBe('one two');
    expect(response.endedByClose).toBe(false);
  });

  test('is marked as possibly incomplete if it ends only because the connection closes', async () => {
    const server = await rawServer((socket) => socket.end(`${ok}Content-Type: text/plain\r\n\r\nall of it?`));
    const response = await createSender().get(server.origin);
    expect(textOf(response)).toBe('all of it?');
    expect(response.endedByClose).toBe(true);
  });

  test.each([
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['a 204 with the encoding gzip', 'HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n'],
    ['a 304 with the Content-Length of the body it omits', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 99000000\r\n\r\n'],
    ['a response with Content-Length 0', `${ok}Content-Length: 0\r\n\r\n`],
    ['an empty body with the encoding gzip', `${ok}Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n`],
  ])('is empty if the response is %s', async (_name, bytes) => {
    const server = await rawServer((socket) => socket.write(bytes));
    const response = await createSender().get(server.origin);
    expect(response.body).toHaveLength(0);
    expect(response.endedByClose).toBe(false);
  });

  test('is read correctly after informational (1xx) responses', async () => {
    const server = await rawServer((socket) =>
      socket.write(
        `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok`,
      ),
    );
    const response = await createSender().get(server.origin);
    expect(response.status).toBe(201);
    expect(response.header('link')).toBeUndefined();
    expect(textOf(response)).toBe('ok');
  });
});

describe('a response body of unusual size or encoding', () => {
  test.each(['zstd', 'compress', 'gzip, made-up'])('is refused if its encoding is %s', async (encoding) => {
    const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(text));
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'parse',
      retryable: false,
      status: 200,
      message: `expected the content encoding gzip, deflate, br, found "${encoding}"`,
    });
  });

  test('is refused if it has more than five encodings', async () => {
    let body: Buffer = Buffer.from(text);
    for (let i = 0; i < 6; i++) body = gzipSync(body);
    const server = await httpServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': Array(6).fill('gzip').join(', ') }).end(body),
    );
    expect(await createSender().failure(server.origin)).toMatchObject({
      kind: 'parse',
      message: 'expected at most 5 content encodings, found 6',
    });
  });

  const tooLarge = {
    kind: 'parse',
    retryable: false,
    sent: true,
    status: 200,
    message: 'the body is larger than max_body of 1000000 bytes',
  };

  test.each([
    ['Content-Length: 104857600\r\n', 'before it arrives', 0],
    ['', 'while it arrives', 100 * 1024 * 1024],
  ])('is refused if it is larger than max_body (header: %j): %s', async (header, _name, most) => {
    const chunk = Buffer.alloc(64 * 1024);
    let written = 0;
    const server = await rawServer((socket) => {
      socket.write(`${ok}${header}\r\n`);
      const more = () => {
        if (socket.destroyed || written >= most) return;
        written += chunk.length;
        socket.write(chunk, more);
      };
      more();
    });
    expect(await createSender().failure(server.origin, { maxBodyBytes: 1_000_000 })).toMatchObject(tooLarge);
    // `written` includes data that is still in the buffers of the sockets, so the bound is generous.
    expect(written).toBeLessThan(20 * 1024 * 1024);
  });

  test.each([
    ['gzip', Buffer.concat(Array(200).fill(gzipSync(Buffer.alloc(1024 * 1024))))],
    ['br', brotliCompressSync(Buffer.alloc(50 * 1024 * 1024), { params: {} })],
    ['gzip, gzip', gzipSync(Buffer.concat(Array(200).fill(gzipSync(Buffer.alloc(1024 * 1024)))))],
  ])('is refused if it is a decompression bomb in %s', async (encoding, body) => {
    const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));
    const before = process.memoryUsage().rss;
    expect(await createSender().failure(server.origin, { maxBodyBytes: 1_000_000 })).toMatchObject(tooLarge);
    expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
  });

  test('is accepted if its size is exactly the maximum', async () => {
    const body = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i * 31 + (i >> 3)) & 255));
    const server = await httpServer(({ path }, response) =>
      path === '/gzip' ? response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body, { level: 0 })) : response.end(body),
    );
    const { get, failure } = createSender();
    for (const path of ['/', '/gzip']) {
      expect((await get(server.origin + path, { maxBodyBytes: 5000 })).body).toHaveLength(5000);
      expect((await failure(server.origin + path, { maxBodyBytes: 4999 })).kind).toBe('parse');
    }
  });
});

describe('the headers of HTTP requests and responses', () => {
  test('are read with lower-case names, and repeated headers are joined', async () => {
    const server = await rawServer((socket) =>
      socket.write(
        `${ok}X-One: 1\r\nx-many: a\r\nX-Many: b\r\nX-Many: c\r\nSet-Cookie: s=1\r\nSet-Cookie: t=2\r\nContent-Length: 0\r\n\r\n`,
      ),
    );
    const { header, headers } = await createSender().get(server.origin);
    expect([header('x-one'), header('x-many'), header('set-cookie'), header('none')]).toEqual(['1', 'a, b, c', 's=1, t=2', undefined]);
    expect(headers['x-many']).toEqual(['a', 'b', 'c']);
  });

  test('can be called __proto__ or constructor', async () => {
    const server = await rawServer((socket) => socket.write(`${ok}__proto__: p\r\nConstructor: c\r\nContent-Length: 0\r\n\r\n`));
    const { header } = await createSender().get(server.origin);
    expect([header('__proto__'), header('constructor'), header('tostring'), header('toString')]).toEqual(['p', 'c', undefined, undefined]);
  });

  test('are sent as UTF-8, and replace the default headers of the same name', async () => {
    const server = await httpServer();
    const headers = { 'X-Name': 'Zoë 日本', ACCEPT: 'text/csv', 'User-Agent': 'mine' };
    await createSender().get(server.origin, { headers });
    const seen = server.requests[0]?.headers;
    expect(Buffer.from(String(seen?.['x-name']), 'latin1').toString()).toBe('Zoë 日本');
    expect(seen).toMatchObject({ accept: 'text/csv', 'user-agent': 'mine' });
    await createSender().get(server.origin);
    expect(server.requests[1]?.headers).toMatchObject({ accept: '*/*', 'user-agent': 'automate/test' });
  });

  test('are refused if they contain half of a surrogate pair', async () => {
    const server = await httpServer();
    expect(await createSender().failure(server.origin, { headers: { 'X-Name': 'a\ud800b' } })).toMatchObject({
      kind: 'request',
      retryable: false,
      sent: false,
      message: 'the header "X-Name" contains a broken character (a lone surrogate)',
    });
    expect(server.requests).toEqual([]);
  });

  test('determine how long automate waits if they include Retry-After', async () => {
    const server = await httpServer((_request, response) => response.writeHead(503, { 'retry-after': '7' }).end());
    expect(await createSender().get(server.origin)).toMatchObject({ status: 503, retryAfterMs: 7000 });
  });
});

describe('the body of an HTTP request', () => {
  test.each(['POST', 'PUT', 'PATCH'])('is sent with %s, byte for byte, in every attempt', async (method) => {
    const server = await httpServer();
    const { get } = createSender();
    const more = { method, body: '{"a":"Zoë \\u0000"}', headers: { 'Content-Type': 'application/json' } };
    await get(`${server.origin}/a%2Fb?q=%20`, more);
    await get(`${server.origin}/a%2Fb?q=%20`, more);
    expect(server.requests[0]).toMatchObject({ method, path: '/a%2Fb?q=%20', body: more.body });
    expect(server.requests[1]).toEqual(server.requests[0]);
  });

  test('is not sent with DELETE or GET', async () => {
    const server = await httpServer();
    await createSender().get(server.origin, { method: 'DELETE' });
    expect(server.requests[0]).toMatchObject({ method: 'DELETE', body: '' });
    expect(server.requests[0]?.headers['transfer-encoding']).toBeUndefined();
  });

  test('can be missing, and every response status is returned without a failure', async () => {
    const server = await httpServer(({ path }, response) => response.writeHead(Number(path.slice(1))).end());
    const { get } = createSender();
    for (const status of [200, 206, 300, 304, 400, 404, 418, 429, 500, 599]) {
      expect((await get(`${server.origin}/${status}`)).status).toBe(status);
    }
  });
});

describe('HTTP connections', () => {
  test('are reused, so there is one connection for each request in flight', async () => {
    const server = await httpServer();
    const { get } = createSender();
    for (let i = 0; i < 5; i++) await get(server.origin);
    expect(server.connections()).toBe(1);
    for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 8 }, () => get(server.origin)));
    expect(server.connections()).toBe(8);
    expect(server.requests).toHaveLength(45);
  });

  test('can be closed by the server while they are idle, without a lost request', async () => {
    const server = await httpServer();
    const { get } = createSender();
    for (let i = 0; i < 20; i++) {
      await get(server.origin);
      server.closeIdle();
    }
    expect(server.requests).toHaveLength(20);
  });

  test('can be closed by the server after each response, announced or not, without a lost request', async () => {
    for (const header of ['Connection: close\r\n', '']) {
      const server = await rawServer((socket) => socket.end(`${ok}${header}Content-Length: 0\r\n\r\n`));
      const { get } = createSender();
      for (let i = 0; i < 20; i++) expect((await get(server.origin)).status).toBe(200);
      expect(server.connections()).toBe(20);
    }
  });

  test('are not reused if the server sends more bytes than the response should have', async () => {
    const server = await rawServer((socket) =>
      socket.write(`${ok}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`),
    );
    const { get } = createSender();
    for (let i = 0; i < 3; i++) expect(textOf(await get(server.origin))).toBe('ok');
    expect(server.connections()).toBe(3);
  });

  test('make only their own request fail if they break', async () => {
    let broken = 0;
    const server = await rawServer((socket, request) => {
      if (request.startsWith('GET /bad') && broken++ < 10) socket.destroy();
      else setTimeout(() => socket.write(`${ok}Content-Length: 0\r\n\r\n`), 5);
    });
    const { get } = createSender();
    const paths = Array.from({ length: 40 }, (_, i) => (i % 4 === 0 ? '/bad' : '/good'));
    const answers = await Promise.allSettled(paths.map((path) => get(server.origin + path)));
    expect(answers.map(({ status }) => status)).toEqual(paths.map((path) => (path === '/bad' ? 'rejected' : 'fulfilled')));
  });
});

test.each(['OPTIONS', 'PROPFIND', 'REPORT', 'QUERY', 'VERSION-CONTROL'])('a request can have the method %s, and a body', async (method) => {
  const server = await rawServer((socket) => socket.write(`${ok}Content-Length: 2\r\n\r\nok`));
  expect(textOf(await createSender().get(server.origin, { method, body: 'abc' }))).toBe('ok');
});

test('the response to HEAD is complete without the body whose length and encoding it states, even if a body of that length is too large', async () => {
  const headers = { 'content-length': '99999999999', 'content-encoding': 'gzip', 'content-type': 'application/zip' };
  const server = await httpServer((_request, response) => response.writeHead(200, headers).end());
  const { get } = createSender();
  for (let request = 1; request <= 3; request++) {
    const response = await get(server.origin, { method: 'HEAD' });
    expect([response.status, response.header('content-length'), response.body.length, response.endedByClose]).toEqual([
      200,
      '99999999999',
      0,
      false,
    ]);
  }
  expect(server.requests.map(({ method }) => method)).toEqual(['HEAD', 'HEAD', 'HEAD']);
});

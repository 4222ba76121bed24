import { constants, type ServerHttp2Session } from 'node:http2';
import { describe, expect, test } from 'vitest';
import { type Auth, boundAuth } from '../../src/core/auth/auth.ts';
import { authTypes } from '../../src/core/auth/auth-types.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { httpServer } from '../helpers/http-server.ts';
import { type Http2Seen, http2Server, reply } from '../helpers/http2-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { type Changes, createSender, type SenderOptions, textOf } from './sending.ts';

const certificates = makeCertificates();
const { authority, good } = certificates;

/** A client that asks for HTTP/2. */
function sender(options: SenderOptions = {}) {
  const made = createSender({ cacert: authority, ...options });
  const more = (changes: Changes = {}) => ({ http2: true, timeoutMs: 10_000, ...changes });
  return {
    get: (url: string, changes?: Changes) => made.get(url, more(changes)),
    failure: (url: string, changes?: Changes) => made.failure(url, more(changes)),
    http: made.http,
  };
}

const many = <Result>(count: number, make: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

/** Resolves in a later turn, so that requests are open at the same time. */
const later = () => new Promise((resolve) => setTimeout(resolve, 2));

describe('a request with http2: true', () => {
  test('uses HTTP/2 where the server offers it, with one connection for requests of every method', async () => {
    const server = await http2Server(async (seen) => {
      await later();
      reply(seen, `${seen.method} ${seen.path} ${seen.body}`, { 'x-name': 'Zo\u00eb' });
    }, good);
    const { get } = sender();
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
    const answers = await many(50, (index) => {
      const method = methods[index % 5] as string;
      return get(`${server.origin}/${index}?a=b`, { method, headers: { 'X-A': 'ü' }, ...(method !== 'GET' && { body: `ä${index}` }) });
    });
    answers.forEach((answer, index) => {
      const method = methods[index % 5] as string;
      expect(textOf(answer)).toBe(`${method} /${index}?a=b ${method === 'GET' ? '' : `ä${index}`}`);
      expect(answer).toMatchObject({ status: 200, httpVersion: '2', endedByClose: false });
    });
    expect(server.sessions).toHaveLength(1);
    expect(Buffer.from(String(server.requests[0]?.headers['x-a']), 'latin1').toString()).toBe('ü');
  });

  test('uses HTTP/1.1 where the server does not, and makes no connection that it does not need', async () => {
    const server = await httpServer((seen, response) => response.end(seen.path), good);
    const { get } = sender();
    const first = await get(`${server.origin}/0`);
    expect(first).toMatchObject({ httpVersion: '1.1' });
    for (let index = 1; index < 4; index++) expect(textOf(await get(`${server.origin}/${index}`))).toBe(`/${index}`);
    expect(server.connections()).toBe(1);
  });

  test('logs in over HTTP/2, too, because some servers speak nothing else', async () => {
    const server = await http2Server((seen) => reply(seen, seen.path), good);
    const session = authTypes.find(({ type }) => type === 'session') as (typeof authTypes)[number];
    const auth = boundAuth(session.options.parse({ type: 'session', login: { url: '/login' } }) as Auth, server.origin);
    expect(await sender().get(`${server.origin}/x`, { auth })).toMatchObject({ httpVersion: '2' });
    expect(server.requests.map(({ path }) => path)).toEqual(['/login', '/x']);
  });

  test('uses HTTP/1.1 without TLS', async () => {
    const server = await httpServer((_seen, response) => response.end('plain'));
    expect(await sender().get(server.origin)).toMatchObject({ httpVersion: '1.1' });
  });

  test('prefers HTTP/2 where the server leaves the choice to the client', async () => {
    const server = await http2Server(undefined, {
      ...good,
      ALPNProtocols: undefined as never,
      ALPNCallback: ({ protocols }: { protocols: string[] }) => protocols[0],
    } as never);
    expect(await sender().get(server.origin)).toMatchObject({ httpVersion: '2' });
  });

  test('sends the Host header of the flow as :authority, and no headers of HTTP/1.1', async () => {
    const server = await http2Server(undefined, good);
    await sender().get(server.origin, { headers: { Host: 'other.example.com', Connection: 'close', 'Keep-Alive': 'timeout=5' } });
    expect(server.requests[0]?.headers).toMatchObject({ ':authority': 'other.example.com', ':scheme': 'https' });
    expect(server.requests[0]?.headers).not.toHaveProperty('connection');
  });

  test('is refused with the cause in the message if the certificate is not trusted', async () => {
    const server = await http2Server(undefined, certificates.selfSigned);
    const { failure } = sender();
    const failures = await many(5, () => failure(server.origin));
    for (const found of failures) {
      expect(found).toMatchObject({ kind: 'network', retryable: false, sent: false });
      expect(found.message).toMatch('DEPTH_ZERO_SELF_SIGNED_CERT');
    }
  });

  test('is not sent if the connection is refused', async () => {
    const server = await httpServer(undefined, good);
    const { failure } = sender();
    const { origin } = server;
    expect(await failure(origin.replace(/\d+$/, '1'))).toMatchObject({ kind: 'network', retryable: true, sent: false });
  });
});

describe("the server's limit of streams", () => {
  test.each([1, 10])('is kept if it is %i', async (maxConcurrentStreams) => {
    const server = await http2Server(
      async (seen) => {
        await later();
        reply(seen, seen.path);
      },
      { ...good, settings: { maxConcurrentStreams } },
    );
    const { get } = sender();
    const answers = await many(60, (index) => get(`${server.origin}/${index}`));
    expect(answers.map(textOf)).toEqual(answers.map((_, index) => `/${index}`));
    expect(server.mostAtOnce()).toBe(maxConcurrentStreams);
    expect(server.sessions).toHaveLength(1);
  });

  test('makes requests wait without their timeout running', async () => {
    const held: Http2Seen[] = [];
    let nowMs = 0;
    const server = await http2Server((seen) => void held.push(seen), { ...good, settings: { maxConcurrentStreams: 1 } });
    const { get } = sender({ now: () => nowMs });
    const all = many(3, (index) => get(`${server.origin}/${index}`, { timeoutMs: 60_000 }));
    for (let index = 0; index < 3; index++) {
      await expect.poll(() => held.length).toBe(index + 1);
      nowMs += 50_000;
      reply(held[index] as Http2Seen, 'late');
    }
    expect((await all).map(({ waitedMs }) => waitedMs)).toEqual([undefined, 50_000, 100_000]);
  });

  test('applies anew when the server changes it', async () => {
    const server = await http2Server(
      async (seen) => {
        if (seen.path === '/first') seen.session.settings({ maxConcurrentStreams: 20 });
        await later();
        reply(seen);
      },
      { ...good, settings: { maxConcurrentStreams: 1 } },
    );
    const { get } = sender();
    await get(`${server.origin}/first`);
    await many(40, () => get(server.origin));
    expect(server.mostAtOnce()).toBe(20);
  });
});

describe('requests that the server did not process', () => {
  test('are sent again over a new connection after GOAWAY, each exactly once', async () => {
    const processed: string[] = [];
    let isFirst = true;
    const server = await http2Server(
      async (seen) => {
        processed.push(`${seen.method} ${seen.path}`);
        await later();
        reply(seen, seen.path);
      },
      good,
      (stream) => {
        const session = stream.session as ServerHttp2Session;
        // The server stops in the middle: it processes streams 1 to 9, and says so.
        if (session !== server.sessions[0] || (stream.id as number) <= 9) return false;
        if (isFirst) session.goaway(0, 9);
        isFirst = false;
        return true;
      },
    );
    const { get } = sender();
    const answers = await many(30, (index) => get(`${server.origin}/${index}`, { method: 'POST', body: 'x' }));
    expect(answers.map(textOf)).toEqual(answers.map((_, index) => `/${index}`));
    expect(processed.toSorted()).toEqual(answers.map((_, index) => `POST /${index}`).toSorted());
    expect(server.sessions).toHaveLength(2);
  });

  test('are sent again after a GOAWAY with an error, and others fail', async () => {
    const processed: string[] = [];
    const server = await http2Server(
      async (seen) => {
        processed.push(seen.path);
        if (seen.session !== server.sessions[0]) reply(seen, seen.path);
      },
      good,
      (stream) => {
        const session = stream.session as ServerHttp2Session;
        if (session !== server.sessions[0] || (stream.id as number) <= 9) return false;
        if (stream.id === 39) setImmediate(() => session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 9));
        return true;
      },
    );
    const { get } = sender();
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => get(`${server.origin}/${index}`)));
    const failed = results.filter(({ status }) => status === 'rejected').map((result) => (result as PromiseRejectedResult).reason);
    expect(failed).toHaveLength(5);
    expect(failed[0]).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: true,
      message: `${server.origin}: the server closed the connection (HTTP/2 ENHANCE_YOUR_CALM)`,
    });
    expect(new Set(processed).size).toBe(processed.length);
  });

  test('are sent again if the server refuses their streams', async () => {
    const refused = new Set<string>();
    const processed: string[] = [];
    const server = await http2Server(
      (seen) => {
        processed.push(seen.path);
        reply(seen, seen.body);
      },
      good,
      (stream, { ':path': path = '' }) => {
        if (refused.has(path)) return false;
        refused.add(path);
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return true;
      },
    );
    const { get } = sender();
    const answers = await many(10, (index) => get(`${server.origin}/${index}`, { method: 'POST', body: `body ${index}` }));
    expect(answers.map(textOf)).toEqual(answers.map((_, index) => `body ${index}`));
    expect(processed).toHaveLength(10);
    expect(server.sessions).toHaveLength(1);
  });

  test('fail as unsent if the server refuses them again and again', async () => {
    const server = await http2Server(undefined, good, (stream) => {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return true;
    });
    expect(await sender().failure(server.origin)).toMatchObject({ kind: 'network', retryable: true, sent: false });
  });

  test('are sent over HTTP/1.1 if the server asks for it', async () => {
    const seen: string[] = [];
    const server = await http2Server(undefined, { ...good, allowHTTP1: true }, (stream) => {
      stream.close(constants.NGHTTP2_HTTP_1_1_REQUIRED);
      return true;
    });
    server.onHttp1((request, response) => {
      seen.push(request.url ?? '');
      response.end('old');
    });
    const { get } = sender();
    const answers = await many(3, (index) => get(`${server.origin}/${index}`));
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, httpVersion: '1.1' });
    expect(seen.toSorted()).toEqual(['/0', '/1', '/2']);
  });
});

describe('a connection that breaks', () => {
  test('fails the requests on it, and no others', async () => {
    const server = await http2Server(
      (seen) => {
        if (seen.session === server.sessions[0]) {
          if (server.requests.length === 5) server.breakConnection(0);
        } else reply(seen, 'well');
      },
      { ...good, settings: { maxConcurrentStreams: 5 } },
    );
    const { get } = sender();
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => get(server.origin)));
    const failed = results.filter(({ status }) => status === 'rejected').map((result) => (result as PromiseRejectedResult).reason);
    expect(failed).toHaveLength(5);
    expect(failed[0]).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: true,
      message: `${server.origin}: the connection was closed before the answer was complete`,
    });
  });

  test.each(['the connection', 'the stream', 'the stream without an error'])(
    'in the middle of a body fails the request (%s)',
    async (what) => {
      const server = await http2Server((seen) => {
        seen.stream.respond({ ':status': 200, ...(what.endsWith('error') && { 'content-length': 100 }) });
        seen.stream.write('half', () => {
          if (what === 'the connection') server.breakConnection(0);
          else if (what === 'the stream') seen.stream.destroy(new Error('broken'));
          else seen.stream.close(constants.NGHTTP2_NO_ERROR);
        });
      }, good);
      expect(await sender().failure(server.origin)).toMatchObject({ kind: 'network', retryable: true, sent: true });
    },
  );
});

describe('a request that is aborted', () => {
  test('by its timeout leaves the others on the connection alone', async () => {
    const held: Http2Seen[] = [];
    const server = await http2Server((seen) => void held.push(seen), good);
    const { get, failure } = sender();
    const others = many(5, (index) => get(`${server.origin}/${index}`));
    await expect.poll(() => held.length).toBe(5);
    expect(await failure(`${server.origin}/slow`, { timeoutMs: 50 })).toMatchObject({
      kind: 'timeout',
      retryable: true,
      sent: true,
      message: 'no response within 50 ms',
    });
    await expect.poll(() => held[5]?.stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    for (const seen of held.slice(0, 5)) reply(seen, seen.path);
    expect((await others).map(textOf)).toEqual(['/0', '/1', '/2', '/3', '/4']);
    expect(server.sessions).toHaveLength(1);
  });

  test('because its body is too large leaves the others on the connection alone', async () => {
    const server = await http2Server((seen) => reply(seen, 'x'.repeat(seen.path === '/large' ? 3_000_000 : 10)), good);
    const { get, failure } = sender();
    const [found, ...others] = await Promise.all([
      failure(`${server.origin}/large`, { maxBodyBytes: 100_000 }),
      ...Array.from({ length: 5 }, () => get(server.origin)),
    ]);
    expect(found).toMatchObject({ kind: 'parse' });
    expect(others.map(({ body }) => body.length)).toEqual([10, 10, 10, 10, 10]);
    expect(server.sessions).toHaveLength(1);
  });

  test('because the run ends is never answered', async () => {
    const held: Http2Seen[] = [];
    const server = await http2Server((seen) => void held.push(seen), good);
    const { failure, http } = sender();
    const found = failure(server.origin);
    await expect.poll(() => held.length).toBe(1);
    http.abort();
    expect(await found).toMatchObject({ message: `${server.origin}: the run has ended` });
  });
});

describe('over HTTP/2', () => {
  test('redirects are followed', async () => {
    const server = await http2Server((seen) => {
      if (seen.path === '/end') reply(seen, `${seen.method} ${seen.body}`);
      else reply(seen, '', { ':status': 307, location: '/end' });
    }, good);
    const answer = await sender().get(`${server.origin}/start`, { method: 'POST', body: 'kept' });
    expect(textOf(answer)).toBe('POST kept');
    expect(answer).toMatchObject({ httpVersion: '2', redirectedTo: { path: '/end' } });
  });

  test('a proxy opens one tunnel, and gets its credential', async () => {
    const server = await http2Server((seen) => reply(seen, seen.headers[':authority']), good);
    const proxy = await proxyServer(server.port);
    const { get } = sender({ environment: { https_proxy: proxy.url.replace('//', '//ada:pass%20word@') } });
    const answers = await many(10, () => get('https://api.example.com/x'));
    expect(answers.map(textOf)).toEqual(answers.map(() => 'api.example.com'));
    expect(answers[0]).toMatchObject({ httpVersion: '2' });
    expect(proxy.seen).toEqual([`CONNECT api.example.com:443 Basic ${Buffer.from('ada:pass word').toString('base64')}`]);
  });

  test('a server behind a proxy can offer HTTP/1.1 only', async () => {
    const server = await httpServer((_seen, response) => response.end('old'), good);
    const proxy = await proxyServer(server.port);
    const { get } = sender({ environment: { https_proxy: proxy.url } });
    for (let index = 0; index < 3; index++) expect(textOf(await get('https://api.example.com/x'))).toBe('old');
    expect(proxy.seen).toEqual(['CONNECT api.example.com:443']);
  });

  test('a proxy that refuses is named', async () => {
    const proxy = await proxyServer(1, 403);
    const { failure } = sender({ environment: { https_proxy: proxy.url } });
    expect(await failure('https://api.example.com/x')).toMatchObject({
      sent: false,
      retryable: false,
      message: `the proxy ${new URL(proxy.url).host} refused the connection to https://api.example.com with status 403`,
    });
  });

  test('big bodies arrive whole in both directions', async () => {
    const server = await http2Server((seen) => reply(seen, seen.body), good);
    const { get } = sender();
    const body = 'ä1234567'.repeat(600_000);
    const answers = await many(4, () => get(server.origin, { method: 'POST', body }));
    for (const answer of answers) expect(textOf(answer) === body).toBe(true);
  });

  test('HEAD, 204 and 304 have no body, and informational responses are skipped', async () => {
    const server = await http2Server((seen) => {
      if (seen.path === '/304') seen.stream.respond({ ':status': 304, 'content-length': 100 }, { endStream: true });
      else if (seen.path === '/204') seen.stream.respond({ ':status': 204 }, { endStream: true });
      else {
        seen.stream.additionalHeaders({ ':status': 103, link: '</a>' });
        seen.stream.respond({ ':status': 200, 'content-length': 100 }, { endStream: seen.method === 'HEAD' });
        if (seen.method !== 'HEAD') seen.stream.end('y'.repeat(100));
      }
    }, good);
    const { get } = sender();
    expect(await get(`${server.origin}/304`)).toMatchObject({ status: 304 });
    expect(await get(`${server.origin}/204`)).toMatchObject({ status: 204 });
    expect((await get(server.origin, { method: 'HEAD' })).body).toHaveLength(0);
    expect((await get(server.origin)).body).toHaveLength(100);
  });

  test('trailers end an answer', async () => {
    const server = await http2Server(({ stream }) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end('with trailers');
    }, good);
    expect(textOf(await sender().get(server.origin))).toBe('with trailers');
  });
});

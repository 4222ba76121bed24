import { once } from 'node:events';
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

/** A request as the server received it. */
export interface Http2Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly stream: ServerHttp2Stream;
  readonly session: ServerHttp2Session;
}

/** A server on loopback that speaks HTTP/2. */
export interface Http2Server {
  readonly port: number;
  readonly origin: string;
  /** In the order in which their bodies were complete. */
  readonly requests: readonly Http2Seen[];
  readonly sessions: readonly ServerHttp2Session[];
  /** With `allowHTTP1`: answers requests over HTTP/1.1. */
  onHttp1(handler: (request: Http2ServerRequest, response: Http2ServerResponse) => void): void;
  /** Breaks a connection without a word about it. */
  breakConnection(index: number): void;
  /** Number of requests that were open at the same time. */
  mostAtOnce(): number;
}

/** Answers a request. Without a stream as its parameter, the server answers with an empty 200. */
export type Http2Handler = (request: Http2Seen) => unknown;

/** Starts an HTTP/2 server for the current test. `begun` sees each stream before its body, and returns true if nothing else is to happen. */
export async function http2Server(
  handler: Http2Handler | undefined,
  options: SecureServerOptions,
  begun: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean = () => false,
): Promise<Http2Server> {
  const requests: Http2Seen[] = [];
  const sessions: ServerHttp2Session[] = [];
  const sockets: TLSSocket[] = [];
  let open = 0;
  let most = 0;
  const server = createSecureServer(options);
  server.on('secureConnection', (socket) => sockets.push(socket));
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('sessionError', () => undefined);
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => undefined);
    most = Math.max(most, ++open);
    stream.once('close', () => open--);
    if (begun(stream, headers)) return;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of stream) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const { ':method': method = '', ':path': path = '' } = headers;
    const seen = { method, path, headers, body: Buffer.concat(chunks).toString(), stream, session: stream.session as ServerHttp2Session };
    requests.push(seen);
    if (handler) await handler(seen);
    else stream.respond({ ':status': 200 }, { endStream: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `https://127.0.0.1:${port}`,
    requests,
    sessions,
    onHttp1: (answer) => void server.on('request', (request, response) => request.httpVersion === '1.1' && answer(request, response)),
    breakConnection: (index) => void sockets[index]?.destroy(),
    mostAtOnce: () => most,
  };
}

/** Answers with a text. */
export function reply({ stream }: Pick<Http2Seen, 'stream'>, text = '', headers: Readonly<Record<string, string | number>> = {}): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, ...headers });
  stream.end(text);
}

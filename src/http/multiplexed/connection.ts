import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { isIP, type Socket } from 'node:net';
import { type SecureContext, connect as secure, type TLSSocket } from 'node:tls';
import { connectTimeoutMs, type Sockets } from '../pools.ts';

/** Bytes that a server may send before they are read: of one response, and of all responses of a connection. */
const streamWindow = 1024 * 1024;
const connectionWindow = 64 * streamWindow;

/** A connection without requests is closed after this time. */
const idleMs = 30_000;

/** After a timeout, a connection that does not answer a ping within this time is given up, because a firewall may have dropped it. */
const pingMs = 10_000;

/** RFC 9113, 7, in the order of their numbers. */
const errorNames =
  'NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM INADEQUATE_SECURITY HTTP_1_1_REQUIRED'.split(
    ' ',
  );

export interface Tls {
  /** The connections over which TLS begins. */
  readonly sockets: Sockets;
  readonly context: SecureContext | undefined;
}

/** Returns a TLS connection for which the server has chosen one of the protocols, or none (ALPN, RFC 7301). */
export async function openSecure(origin: URL, protocols: string[], { sockets, context }: Tls): Promise<TLSSocket> {
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const socket = await openSocket(origin, host, sockets);
  const servername = isIP(host) === 0 ? host : '';
  return secured(secure({ socket, host, servername, secureContext: context, rejectUnauthorized: true, ALPNProtocols: protocols }));
}

function openSocket({ hostname, port: given }: URL, host: string, { open }: Sockets): Promise<Socket> {
  const port = given || '443';
  return new Promise((resolve, reject) => {
    open({ hostname: host, host: `${hostname}:${port}`, port, protocol: 'http:' }, (...[failure, socket]) => {
      if (failure) reject(failure);
      else resolve(socket);
    });
  });
}

/** Resolves once the handshake is complete. */
function secured(tls: TLSSocket): Promise<TLSSocket> {
  const late = setTimeout(() => tls.destroy(notConnected()), connectTimeoutMs);
  return new Promise<TLSSocket>((resolve, reject) => {
    tls.once('error', reject);
    tls.once('close', () => reject(Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' })));
    tls.once('secureConnect', () => {
      tls.off('error', reject);
      resolve(tls);
    });
  }).finally(() => clearTimeout(late));
}

function notConnected(): Error {
  return Object.assign(new Error('the connection was not made in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
}

/** The server's limit of concurrent streams is known once its first SETTINGS have arrived, and a request before them could exceed it. */
export function openConnection(origin: URL, socket: TLSSocket, lost: (connection: Http2Connection) => void): Promise<Http2Connection> {
  return new Promise((resolve, reject) => {
    const settings = { enablePush: false, initialWindowSize: streamWindow };
    const session = connect(origin, { createConnection: () => socket, settings, maxSessionMemory: 1000 });
    const connection = new Http2Connection(session);
    const late = setTimeout(() => session.destroy(notConnected()), connectTimeoutMs);
    session.once('connect', () => session.setLocalWindowSize(connectionWindow));
    session.once('remoteSettings', () => {
      clearTimeout(late);
      resolve(connection);
    });
    session.once('close', () => {
      clearTimeout(late);
      reject(connection.error ?? closedEarly());
      lost(connection);
    });
    session.setTimeout(idleMs, () => connection.streams === 0 && session.close());
    session.unref();
  });
}

export function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'UND_ERR_SOCKET' });
}

export class Http2Connection {
  streams = 0;
  error: Error | undefined;
  readonly session: ClientHttp2Session;
  /** The server has processed no stream with a higher number. */
  #lastProcessed = Number.POSITIVE_INFINITY;
  #isChecking = false;

  constructor(session: ClientHttp2Session) {
    this.session = session;
    session.on('goaway', (code: number, lastProcessed: number) => {
      this.#lastProcessed = Math.min(this.#lastProcessed, lastProcessed);
      if (code !== 0) this.error = named('the server closed the connection', code);
    });
    session.on('error', (error) => {
      this.error ??= error;
    });
  }

  get isOpen(): boolean {
    return !this.session.closed && !this.session.destroyed;
  }

  get hasRoom(): boolean {
    return this.streams < (this.session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);
  }

  /** According to the server (RFC 9113, 8.7), so that it is safe to send the request again. */
  isUnprocessed({ id, rstCode }: ClientHttp2Stream): boolean {
    return id === undefined || id > this.#lastProcessed || rstCode === constants.NGHTTP2_REFUSED_STREAM;
  }

  /** Ends the connection if the server does not answer. */
  check(): void {
    if (this.#isChecking || !this.isOpen) return;
    this.#isChecking = true;
    const late = setTimeout(() => this.session.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })), pingMs);
    late.unref();
    this.session.ping(() => {
      clearTimeout(late);
      this.#isChecking = false;
    });
  }
}

export function named(message: string, code: number): Error {
  return Object.assign(new Error(message), { code: `HTTP/2 ${errorNames[code] ?? code}` });
}

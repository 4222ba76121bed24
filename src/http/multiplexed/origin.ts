import type { LookupFunction } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type buildConnector, Pool } from 'undici';
import { directSockets, type HttpPoolOptions, type OriginPool, Pools, tunnels } from '../pools.ts';
import { type Http2Connection, openConnection, openSecure, type Tls } from './connection.ts';
import { type DispatchOptions, type Http2Handler, Http2Request, type Queue } from './request.ts';

/** `way` is a proxy, or a lookup that replaces Node's own lookup of host names. */
export function http2Pools(way: URL | LookupFunction | undefined, options: HttpPoolOptions): Pools {
  const { context, warn } = options;
  const sockets = () => (way instanceof URL ? tunnels(way, options) : directSockets(way));
  return new Pools((origin, http1) => new Http2Origin(origin, { sockets: sockets(), context, http1 }), warn);
}

interface OriginOptions extends Tls {
  /** For the HTTP/1.1 connections to a server without HTTP/2. */
  readonly http1: Pool.Options;
}

/**
 * The requests to an origin over one HTTP/2 connection, or over HTTP/1.1 if the server does not offer HTTP/2.
 *
 * undici's own HTTP/2 is not used. It does not read which requests a GOAWAY leaves unprocessed, and it opens a connection for each POST.
 */
class Http2Origin implements OriginPool, Queue {
  readonly #origin: URL;
  readonly #options: OriginOptions;
  #waiting: Http2Request[] = [];
  readonly #connections = new Set<Http2Connection>();
  /** Takes new requests while it is open. The others only finish theirs. */
  #newest: Http2Connection | undefined;
  #isConnecting = false;
  #isDestroyed = false;
  /** Set if the server does not offer HTTP/2. */
  #http1: Pool | undefined;
  /** Set once the origin takes no new requests. */
  #closed: (() => void) | undefined;

  constructor(origin: string, options: OriginOptions) {
    this.#origin = new URL(origin);
    this.#options = options;
  }

  dispatch(options: DispatchOptions, handler: Http2Handler): void {
    if (this.#http1) this.#http1.dispatch(options, handler);
    else {
      this.#waiting.push(new Http2Request(options, handler, this));
      this.#fill();
    }
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closed = resolve;
      this.#endIfIdle();
    });
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    this.#failWaiting(ended());
    for (const { session } of this.#connections) session.destroy(ended());
    await Promise.all([this.#http1?.destroy(), this.#options.sockets.destroy()]);
  }

  left(): void {
    this.#fill();
    this.#endIfIdle();
  }

  resend(request: Http2Request): void {
    if (this.#http1) {
      request.moveTo(this.#http1);
      return;
    }
    this.#waiting.unshift(request);
    this.#fill();
  }

  useHttp1(socket?: TLSSocket): Pool {
    const spare = socket ? [socket] : [];
    const connectHttp1: buildConnector.connector = (_options, callback) => {
      const opened = spare.pop();
      // Never calls back at once, because undici would then not notice that it is connected.
      const connecting = opened && !opened.destroyed ? Promise.resolve(opened) : this.#open(['http/1.1']);
      connecting.then(
        (made) => callback(null, made),
        // Without undici's error codes, because it would connect again and again after some of them.
        (error: Error) => callback(new Error(error.message, { cause: error }), null),
      );
    };
    this.#http1 ??= new Pool(this.#origin, { ...this.#options.http1, connect: connectHttp1 });
    for (const request of this.#waiting.splice(0)) request.moveTo(this.#http1);
    return this.#http1;
  }

  #fill(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#newest;
      if (!connection?.isOpen) {
        void this.#connect();
        return;
      }
      if (!connection.hasRoom) {
        this.#hold(connection.streams > 0);
        return;
      }
      (this.#waiting.shift() as Http2Request).start(connection);
    }
  }

  /** The time that requests wait for others is not theirs. It is if there are no others, so that they do not wait forever. */
  #hold(isWaiting: boolean): void {
    for (const request of this.#waiting) request.hold(isWaiting);
  }

  async #connect(): Promise<void> {
    if (this.#isDestroyed) this.#failWaiting(ended());
    if (this.#isConnecting || this.#isDestroyed) return;
    this.#isConnecting = true;
    this.#hold(false);
    try {
      const socket = await this.#open(['h2', 'http/1.1']);
      if (this.#isDestroyed) socket.destroy();
      else if (socket.alpnProtocol !== 'h2') this.useHttp1(socket);
      else this.#use(await openConnection(this.#origin, socket, (lost) => this.#forget(lost)));
    } catch (error) {
      this.#failWaiting(error as Error);
    }
    this.#isConnecting = false;
    this.left();
  }

  #use(connection: Http2Connection): void {
    this.#newest = connection;
    this.#connections.add(connection);
    if (this.#isDestroyed) connection.session.destroy();
  }

  #open(protocols: string[]): Promise<TLSSocket> {
    return openSecure(this.#origin, protocols, this.#options);
  }

  #forget(connection: Http2Connection): void {
    this.#connections.delete(connection);
    this.left();
  }

  #failWaiting(error: Error): void {
    for (const request of this.#waiting.splice(0)) request.fail(error);
  }

  #endIfIdle(): void {
    if (!this.#closed || this.#isConnecting || this.#waiting.length > 0) return;
    for (const { streams } of this.#connections) if (streams > 0) return;
    for (const { session } of this.#connections) session.close();
    Promise.all([this.#http1?.close(), this.#options.sockets.destroy()]).then(this.#closed, this.#closed);
  }
}

function ended(): Error {
  return Object.assign(new Error('the run has ended'), { code: 'UND_ERR_DESTROYED' });
}

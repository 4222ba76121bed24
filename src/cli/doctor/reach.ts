import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import { failureOf } from '../../http/error.ts';

/** The IP address and the TLS properties of a connection that could be opened. */
export interface Reached {
  readonly address: string;
  /** The TLS version, and the time when the server's certificate expires, in ms since 1970; undefined if the connection has no TLS. */
  readonly tls: { readonly version: string; readonly validUntilMs: number } | undefined;
}

const timeoutMs = 10_000;

/**
 * Tests whether a server can be reached. Opens a connection to the origin, with TLS if it is https, and closes it without a request. Throws
 * a Failure if the connection cannot be opened.
 */
export async function reach(origin: string, secureContext?: SecureContext): Promise<Reached> {
  const socket = openSocket(new URL(origin), secureContext);
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    await once(socket, 'encrypted' in socket ? 'secureConnect' : 'connect', { signal });
    return { address: socket.remoteAddress ?? '', tls: 'encrypted' in socket ? tlsOf(socket) : undefined };
  } catch (error) {
    throw failureOf(signal.aborted ? Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' }) : error, { origin, wasSent: false });
  } finally {
    // The result is known, so errors of the socket no longer matter.
    socket.on('error', () => {});
    socket.destroy();
  }
}

function openSocket({ protocol, hostname, port }: URL, secureContext: SecureContext | undefined): Socket | TLSSocket {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connect({ host, port: Number(port || 80) });
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port: Number(port || 443), rejectUnauthorized: true, ...name, secureContext });
}

function tlsOf(socket: TLSSocket): Reached['tls'] {
  return { version: socket.getProtocol() ?? 'TLS', validUntilMs: Date.parse(socket.getPeerCertificate().valid_to) };
}

import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import { failureOf } from '../http/error.ts';

/** The address and TLS properties of a connection. */
export interface Reached {
  readonly address: string;
  /** The version of TLS, and the end of the certificate in ms; absent without TLS. */
  readonly tls: { readonly version: string; readonly validUntilMs: number } | undefined;
}

const timeoutMs = 10_000;

/**
 * Connects to an origin, with TLS for https, and closes the connection again. Sends no request. Throws a Failure with the reason if it
 * cannot connect.
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
    // An error after the connection does not matter any more.
    socket.on('error', () => {});
    socket.destroy();
  }
}

function openSocket({ protocol, hostname, port }: URL, secureContext: SecureContext | undefined): Socket | TLSSocket {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connect({ host, port: Number(port || 80) });
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port: Number(port || 443), rejectUnauthorized: true, ...name, ...(secureContext && { secureContext }) });
}

function tlsOf(socket: TLSSocket): Reached['tls'] {
  return { version: socket.getProtocol() ?? 'TLS', validUntilMs: Date.parse(socket.getPeerCertificate().valid_to) };
}

import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import { Failure } from '../../core/failure.ts';
import { authorities } from '../../http/authorities.ts';
import { failureOf } from '../../http/error.ts';
import { proxyFinder } from '../../http/proxy.ts';
import { messageWithAdvice } from '../advice.ts';
import { type DoctorFinding, type DoctorOptions, okFinding, orProblem, problemFinding, problemIn, warningFinding } from './finding.ts';

export async function proxyFindings(): Promise<DoctorFinding[]> {
  let proxyOf: ReturnType<typeof proxyFinder>;
  try {
    proxyOf = proxyFinder(process.env);
  } catch (error) {
    return [problemIn('proxy', (error as Error).message, 'correct the variable, or unset it')];
  }
  const found = ['http', 'https'].flatMap((scheme) => {
    const proxy = proxyOf(`${scheme}://host.invalid`);
    return proxy ? [{ scheme, proxy }] : [];
  });
  if (found.length === 0) return [okFinding('proxy', 'none: hosts are connected to directly')];
  return Promise.all(found.map(({ scheme, proxy }) => proxyFinding(scheme, proxy)));
}

/** The finding does not show the whole URL of the proxy, because it might contain a password. */
async function proxyFinding(scheme: string, proxy: URL): Promise<DoctorFinding> {
  const reached = await tryReach(proxy.origin);
  if (!(reached instanceof Failure)) return okFinding('proxy', `${scheme} requests go through ${proxy.host}, which can be reached`);
  const message = `${scheme} requests go through a proxy that cannot be reached: ${reached.message}`;
  return problemFinding('proxy', message, `check ${scheme.toUpperCase()}_PROXY`);
}

export function authorityFinding({ cacert }: DoctorOptions): Promise<DoctorFinding> {
  const check = 'certificates';
  return orProblem(check, () => {
    const { NODE_EXTRA_CA_CERTS: extra, NODE_TLS_REJECT_UNAUTHORIZED: reject } = process.env;
    authorities(cacert, process.env);
    if (extra) {
      try {
        authorities(extra, {});
      } catch (error) {
        const message = `NODE_EXTRA_CA_CERTS: ${(error as Error).message}`;
        return problemIn(check, message, 'set it to a PEM file that can be read, or unset it');
      }
    }
    if (reject === '0') {
      return warningFinding(
        check,
        'NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect here',
        'unset it, and give your own certificate authority with --cacert FILE',
      );
    }
    const more = [...(extra ? [extra] : []), ...(cacert === undefined ? [] : [cacert])];
    return okFinding(check, ['the default authorities', ...more].join(' and '));
  });
}

/** Connects without sending a request. Through a proxy, the hosts cannot be checked in this way. */
export function hostFindings(origins: readonly string[], { cacert }: DoctorOptions): Promise<DoctorFinding[]> {
  const context = authorities(cacert, process.env);
  const proxyOf = proxyFinder(process.env);
  return Promise.all(
    origins.map((origin) => {
      const proxy = proxyOf(origin);
      const check = `host ${new URL(origin).host}`;
      return proxy
        ? okFinding(check, `${origin} is reached through the proxy ${proxy.host}, so it is not checked here`)
        : hostFinding(check, origin, context);
    }),
  );
}

const warnedMs = 14 * 86_400_000;

async function hostFinding(check: string, origin: string, context: SecureContext | undefined): Promise<DoctorFinding> {
  const reached = await tryReach(origin, context);
  if (reached instanceof Failure) return problemIn(check, messageWithAdvice(reached), 'check the URL, the network and the firewall');
  const { address, tls } = reached;
  const until = tls && new Date(tls.validUntilMs).toISOString().slice(0, 10);
  const message = `${origin} accepts connections at ${address}${tls ? ` with ${tls.version}; its certificate expires on ${until}` : ''}`;
  const isLate = tls !== undefined && tls.validUntilMs - Date.now() < warnedMs;
  return isLate ? warningFinding(check, message, "tell the server's owner to renew its certificate") : okFinding(check, message);
}

function tryReach(origin: string, context?: SecureContext): Promise<Reached | Failure> {
  return reach(origin, context).catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
}

interface Reached {
  readonly address: string;
  /** Undefined without TLS. `validUntilMs` is the expiry of the server's certificate, in ms since 1970. */
  readonly tls: { readonly version: string; readonly validUntilMs: number } | undefined;
}

const timeoutMs = 10_000;

/** Opens a connection, with TLS for https, and closes it without a request. Throws a Failure if it cannot be opened. */
async function reach(origin: string, secureContext?: SecureContext): Promise<Reached> {
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
  return connectTls({ host, port: Number(port || 443), rejectUnauthorized: true, ...name, ...(secureContext && { secureContext }) });
}

function tlsOf(socket: TLSSocket): Reached['tls'] {
  return { version: socket.getProtocol() ?? 'TLS', validUntilMs: Date.parse(socket.getPeerCertificate().valid_to) };
}

import { isIP } from 'node:net';
import { usageError } from '../core/failure.ts';

export interface ListeningOptions {
  readonly host: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly behindProxy?: boolean;
  readonly allowHost: readonly string[];
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Throws an AutomateError (`usage`) if other machines can reach an unsecured server. The message lists what is missing. */
export function refuseOpenAddress(options: ListeningOptions, hasKey: boolean): void {
  const { host, tlsCert, tlsKey, behindProxy, allowHost } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const [given, missing] = tlsCert === undefined ? ['--tls-key', '--tls-cert'] : ['--tls-cert', '--tls-key'];
    throw usageError(`expected ${missing} together with ${given}`);
  }
  if (tlsCert !== undefined && behindProxy) throw usageError('expected --tls-cert or --behind-proxy, found both');
  if (isLoopback(host)) return;
  const missing = [
    ...(hasKey ? [] : ['an API key: automate keys create NAME']),
    ...(tlsCert !== undefined || behindProxy
      ? []
      : ['encryption: --tls-cert FILE --tls-key FILE, or --behind-proxy for a proxy that does it']),
    ...(allowHost.length > 0 ? [] : ['the name that clients use: --allow-host NAME']),
  ];
  if (missing.length === 0) return;
  throw usageError(`--host ${host} can be reached from other machines, and this is missing:\n${missing.join('\n')}`);
}

export function listeningAddress({ host, tlsCert }: ListeningOptions, port: number): string {
  return `${tlsCert === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Contains the first allowed host name. Without one, or if only this machine can reach the server, the URL at which it listens. */
export function clientAddress(options: ListeningOptions, port: number): string {
  const { host, behindProxy, allowHost } = options;
  const [name] = allowHost;
  if (name === undefined || (isLoopback(host) && !behindProxy)) return listeningAddress(options, port);
  if (behindProxy) return `https://${name}`;
  return port === 443 || /:\d+$/.test(name) ? `https://${name}` : `https://${name}:${port}`;
}

/** Checks the Host header to prevent DNS rebinding, in which a web page gets access to a local server. */
export class Hosts {
  readonly #isTls: boolean;
  readonly #allowed: readonly string[];
  #port = 0;

  constructor(allowed: readonly string[], isTls: boolean) {
    this.#isTls = isTls;
    this.#allowed = allowed.map((name) => name.toLowerCase());
  }

  set port(port: number) {
    this.#port = port;
  }

  isServed(host: string | undefined): boolean {
    if (host === undefined) return false;
    const name = host.toLowerCase();
    const own = ['127.0.0.1', 'localhost', '[::1]'];
    if (own.some((one) => name === `${one}:${this.#port}`)) return true;
    if (this.#port === (this.#isTls ? 443 : 80) && own.includes(name)) return true;
    return this.#allowed.includes(name) || this.#allowed.includes(name.replace(/:\d+$/, ''));
  }
}

import { BlockList, isIP } from 'node:net';
import { AutomateError } from '../core/failure.ts';
import { isLoopback } from '../core/template/url.ts';

/** Undefined if requests to the origin use no proxy. */
type ProxyFinder = (origin: string) => URL | undefined;

/**
 * Reads the environment variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the same way as curl. Lower-case names take precedence, and an
 * empty value means no proxy. Requests to the local machine use no proxy, as in browsers: the proxy would see their secrets in clear text, and
 * its loopback is a different machine. Throws an AutomateError if the value for a proxy is not the URL of a proxy.
 */
export function proxyFinder(environment: NodeJS.ProcessEnv): ProxyFinder {
  const http = proxyOf(environment, 'http_proxy');
  const https = proxyOf(environment, 'https_proxy');
  if (!http && !https) return () => undefined;
  const isExcepted = exceptions(variable(environment, 'no_proxy').value);
  return (origin) => {
    const url = new URL(origin);
    const proxy = url.protocol === 'https:' ? https : http;
    return proxy && !isLoopback(url.hostname) && !isExcepted(url) ? proxy : undefined;
  };
}

function variable(environment: NodeJS.ProcessEnv, lower: string): { readonly name: string; readonly value: string } {
  const name = environment[lower] === undefined ? lower.toUpperCase() : lower;
  return { name, value: environment[name] ?? '' };
}

/** The error message leaves out the variable's value, because it may contain a password. */
function proxyOf(environment: NodeJS.ProcessEnv, lower: string): URL | undefined {
  const { name, value } = variable(environment, lower);
  if (value === '') return undefined;
  const text = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  const found = url ? `the scheme "${url.protocol.slice(0, -1)}"` : 'no URL';
  throw new AutomateError('usage', `${name}: expected the URL of a proxy such as http://proxy.example.com:3128, found ${found}`);
}

/** NO_PROXY has hosts (with subdomains), IP addresses, networks such as `10.0.0.0/8`, and `*`. Hosts and addresses may have a port. */
function exceptions(list: string): (url: URL) => boolean {
  const networks = new BlockList();
  const hosts: { readonly host: string; readonly port: string | undefined }[] = [];
  for (const entry of list.toLowerCase().split(/[\s,]+/)) {
    const [, network = '', bits] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
    const family = isIP(network);
    if (family !== 0 && Number(bits) <= (family === 6 ? 128 : 32)) {
      networks.addSubnet(network, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
    } else if (entry !== '') {
      const [, host, port] = /^(.*?)(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) as RegExpExecArray;
      hosts.push({ host: (host as string).replace(/^\*?\.(?=.)/, ''), port });
    }
  }
  return ({ hostname, port, protocol }) => {
    const address = hostname.replace(/^\[|\]$/g, '');
    const family = isIP(address);
    if (family !== 0 && networks.check(address, family === 6 ? 'ipv6' : 'ipv4')) return true;
    const actualPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
    return hosts.some(
      ({ host, port: listedPort }) =>
        (listedPort === undefined || listedPort === actualPort) &&
        (host === '*' || hostname === host || (family === 0 && hostname.endsWith(`.${host}`))),
    );
  };
}

import type { SecureContext } from 'node:tls';
import { buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { percentDecoded } from '../../core/template/url.ts';
import { guardedLookup } from './guard.ts';
import { createLines, type Lines } from './lines.ts';

/** How requests get to an origin. */
export interface Route {
  readonly lines: Lines;
  /** The proxy's host and port, for messages. */
  readonly proxy?: string;
}

/** Which hosts a direct connection may lead to: any; those that are listed, so only metadata is refused; or nothing inside the network. */
type Reach = 'any' | 'listed' | 'unlisted';

/** The ways there are, each made when it is first needed. */
export interface Routes {
  direct(reach: Reach): Route;
  through(proxy: URL): Route;
  destroy(): void;
}

const connectTimeoutMs = 10_000;

/** Node tries a host's addresses one after another, 250 ms each: too short for the other side of the world. */
const addresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

/** Makes the routes. `secureContext`: whom TLS trusts; absent for the usual authorities. */
export function createRoutes(secureContext: SecureContext | undefined): Routes {
  const routes = new Map<string, Route>();
  // Said, so that NODE_TLS_REJECT_UNAUTHORIZED is no way around.
  const tls = { timeout: connectTimeoutMs, rejectUnauthorized: true, ...(secureContext ? { secureContext } : {}) };
  return {
    direct: (reach) => routes.get(reach) ?? kept(reach, { lines: createLines(directly(reach)) }),
    through: (proxy) => routes.get(proxy.href) ?? kept(proxy.href, { lines: createLines(proxied(proxy)), proxy: proxy.host }),
    destroy() {
      for (const { lines } of routes.values()) lines.destroy();
    },
  };

  function kept(key: string, route: Route): Route {
    routes.set(key, route);
    return route;
  }

  function directly(reach: Reach): (origin: string) => Dispatcher {
    const lookup = reach === 'any' ? {} : { lookup: guardedLookup(reach === 'listed') };
    const connect = buildConnector({ ...tls, ...addresses, ...lookup });
    return (origin) => new Client(origin, { connect });
  }

  /** http origins get their requests passed on, as not every proxy opens tunnels to port 80; https ones a tunnel. */
  function proxied({ href, origin, username, password }: URL): () => Dispatcher {
    const pair = `${percentDecoded(username)}:${percentDecoded(password)}`;
    const options = {
      uri: username === '' ? href : origin,
      ...(username === '' ? {} : { token: `Basic ${Buffer.from(pair).toString('base64')}` }),
      proxyTunnel: false,
      requestTls: tls,
      proxyTls: { ...tls, ...addresses },
      factory: (origin: URL, { connect, ...options }: { readonly connect: buildConnector.connector }) =>
        new Client(origin, { ...options, connect: failing(connect) }),
      // The one that asks for tunnels.
      clientFactory: (proxy: URL, options: object) => new Pool(proxy, { ...options, headersTimeout: connectTimeoutMs }),
    };
    return () => new ProxyAgent(options);
  }
}

/** undici would take a connection that closes before there is a tunnel for a lost one, and ask for tunnels without end. */
function failing(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) callback(new Error(error.message, { cause: error }), null);
      else callback(null, socket);
    });
}

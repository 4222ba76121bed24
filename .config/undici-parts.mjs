// The parts of undici that the transport uses, without fetch, WebSocket and mocks. This saves 5 % of the CPU time of a run with one record.
// The paths are not public API, so undici is pinned to an exact version, and a test imports each of them.
import connect from 'undici/lib/api/api-connect.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

// undici's own index adds its whole API in the same way. CONNECT is needed to open a tunnel through a proxy.
Object.assign(Dispatcher.prototype, { connect });

export { default as buildConnector } from 'undici/lib/core/connect.js';
export { default as Client } from 'undici/lib/dispatcher/client.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';

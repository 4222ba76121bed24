// The parts of undici that the transport uses, without its fetch, WebSocket and mocks: saves 5 % of the CPU of a run of one record.
// These paths are not part of its API, so undici is pinned exactly, and a test imports each of them.
import connect from 'undici/lib/api/api-connect.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

// As undici's own index does with its whole api: a tunnel through a proxy begins with CONNECT.
Object.assign(Dispatcher.prototype, { connect });

export { default as buildConnector } from 'undici/lib/core/connect.js';
export { default as Client } from 'undici/lib/dispatcher/client.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';

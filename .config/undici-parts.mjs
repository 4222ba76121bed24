// What the transport uses of undici, without its fetch, WebSocket and mocks: a third of the code to load at every start.
import connect from 'undici/lib/api/api-connect.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

// As undici's own index does with all of its api: a tunnel through a proxy begins with CONNECT.
Object.assign(Dispatcher.prototype, { connect });

export { default as buildConnector } from 'undici/lib/core/connect.js';
export { default as Client } from 'undici/lib/dispatcher/client.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';

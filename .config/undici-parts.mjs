// What the transport uses of undici, without its fetch, WebSocket and mocks: a third of the code to load at every start.
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';

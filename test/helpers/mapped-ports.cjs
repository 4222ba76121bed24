// Loaded by a process with --require: connections to ports of this machine that pages and examples name go to servers of the test.
const { Socket } = require('node:net');

const ports = JSON.parse(process.env.TEST_PORTS);
const { connect } = Socket.prototype;

Socket.prototype.connect = function (...args) {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (options?.port in ports && options.host === '127.0.0.1') options.port = ports[options.port];
  return connect.apply(this, args);
};

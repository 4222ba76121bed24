// Loaded by a process with --require: connections to ports of this machine that pages and examples name go to servers of the test. A
// process that would listen on such a port takes any free one, because another test might use the port.
const { Server, Socket } = require('node:net');

const ports = JSON.parse(process.env.TEST_PORTS);
const { connect } = Socket.prototype;
const { listen } = Server.prototype;

Socket.prototype.connect = function (...args) {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (options?.port in ports && options.host === '127.0.0.1') options.port = ports[options.port];
  return connect.apply(this, args);
};

Server.prototype.listen = function (port, ...args) {
  return listen.call(this, port in ports ? 0 : port, ...args);
};

// Makes a server that would listen on all interfaces listen only on loopback, on a free port. Prints the port.
import net from 'node:net';

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function pinned(...args) {
  const callback = args.findLast((arg) => typeof arg === 'function');
  return listen.call(this, { port: Number(process.env.PINNED_PORT ?? 0), host: '127.0.0.1' }, () => {
    console.error(`pinned to port ${this.address().port}.`);
    callback?.call(this);
  });
};

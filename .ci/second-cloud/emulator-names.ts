import net from 'node:net';

/**
 * Connections of this process to a name of API Gateway, or of an API, go to the emulator: to SECOND_CLOUD_PORT of this machine. TLS
 * still asks for the name, and no other name is touched. Also for NODE_OPTIONS=--import.
 */
const name = /\.execute-api\.[a-z0-9-]+\.amazonaws\.com$|^(data|direct)\.example\.org$/;
const { connect } = net.Socket.prototype;

net.Socket.prototype.connect = function (this: net.Socket, ...given: [unknown, ...unknown[]]) {
  // Node's own callers give [options, callback] as one argument.
  const isPacked = Array.isArray(given[0]);
  const options = (isPacked ? (given[0] as unknown[])[0] : given[0]) as net.TcpNetConnectOpts | undefined;
  if (!name.test(options?.host ?? '')) return Reflect.apply(connect, this, given);
  const moved = { ...options, host: '127.0.0.1', port: Number(process.env.SECOND_CLOUD_PORT) };
  const callback = isPacked ? (given[0] as unknown[])[1] : given[1];
  return Reflect.apply(connect, this, callback ? [moved, callback] : [moved]);
} as typeof connect;

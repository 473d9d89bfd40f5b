// Loaded before Lambda's runtime interface client, in the place of its native part, which would have to be compiled: the part
// that asks the Runtime API for the next invocation. Streamed replies go through the package's own JavaScript.
const Module = require('node:module');

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
const nativeClient = {
  initializeClient() {},
  async next() {
    const response = await fetch(`${api}/next`);
    return { bodyJson: await response.text(), headers: Object.fromEntries(response.headers) };
  },
  done() {
    throw new Error('only streamed replies are tested');
  },
  error(_id, body) {
    process.stderr.write(`posted as an invocation error: ${body}\n`);
  },
};
Module._extensions['.node'] = (module) => {
  module.exports = nativeClient;
};

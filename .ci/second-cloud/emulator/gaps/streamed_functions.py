"""Functions of Node.js have no `awslambda.streamifyResponse`.

https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html

A streamed reply is gathered, and handed over whole.
"""
from ministack.core import lambda_runtime

START = "\nlet handlerFn = null;\n"
STREAM = r"""
globalThis.awslambda = {
  streamifyResponse: (handler) => async (event, context) => {
    const chunks = [];
    let isBegun = false;
    const begin = () => {
      if (!isBegun) stream.onBegin?.((bytes) => chunks.push(Buffer.from(bytes)));
      isBegun = true;
    };
    const stream = new (require("stream").Writable)({
      write(chunk, encoding, done) {
        begin();
        chunks.push(Buffer.from(chunk, encoding));
        done();
      },
    });
    stream.setContentType = () => {};
    const ended = new Promise((resolve, reject) => stream.on("finish", resolve).on("error", reject));
    await handler(event, stream, context);
    if (!stream.writableEnded && !stream.destroyed) stream.end();
    await ended;
    begin();
    return { __streamed: Buffer.concat(chunks).toString("base64") };
  },
  HttpResponseStream: {
    from(stream, prelude) {
      stream.onBegin = (write) => {
        write(JSON.stringify(prelude));
        write(new Uint8Array(8));
      };
      return stream;
    },
  },
};
"""


def is_open():
    return "streamifyResponse" not in lambda_runtime._NODEJS_WORKER_SCRIPT


def close():
    script = lambda_runtime._NODEJS_WORKER_SCRIPT
    if START not in script:
        raise RuntimeError("the emulator's worker of Node.js has another text")
    lambda_runtime._NODEJS_WORKER_SCRIPT = script.replace(START, STREAM + START, 1)

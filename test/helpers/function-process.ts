import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { APIGatewayProxyEvent } from 'aws-lambda';

/** How a streamed invocation went. */
export interface StreamedOutcome {
  readonly status: number;
  /** Of the body. */
  readonly bytes: number;
  readonly sha256: string;
  /** Most memory that the process ever had, in bytes. */
  readonly peakMemory: number;
}

/** A minimal Lambda runtime for a streamed function, in plain JavaScript like the real one. */
const runtime = `
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
let metadata;
globalThis.awslambda = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: { from: (stream, given) => { metadata = given; return stream; } },
};
const { handler } = await import(process.env.LAMBDA_TASK_ROOT + '/index.mjs');
const digest = createHash('sha256');
let bytes = 0;
const stream = new Writable({
  write(chunk, _, done) {
    digest.update(chunk);
    bytes += chunk.length;
    setImmediate(done);
  },
});
await handler(JSON.parse(process.argv[1]), stream, { getRemainingTimeInMillis: () => 300_000 });
const [, peak] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
const outcome = { status: metadata.statusCode, bytes, sha256: digest.digest('hex'), peakMemory: peak * 1024 };
process.stderr.write(JSON.stringify(outcome), () => process.exit());
`;

/**
 * One invocation of a streamed function in its own process, with its bundle and environment and nothing else: its
 * memory is the function's, not the local engine's. Reads `/proc`.
 */
export async function invokeAlone(
  environment: Readonly<Record<string, string>>,
  event: APIGatewayProxyEvent,
): Promise<StreamedOutcome> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', runtime, JSON.stringify(event)], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return JSON.parse(said) as StreamedOutcome;
}

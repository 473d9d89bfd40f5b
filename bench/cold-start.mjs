// What Lambda does before the first invocation: import the bundle. Prints milliseconds of wall clock and of user CPU.
import { pathToFileURL } from 'node:url';

globalThis.awslambda = { streamifyResponse: (handler) => handler, HttpResponseStream: { from: (stream) => stream } };
const bundle = pathToFileURL(process.argv[2]).href;
const cpuBefore = process.cpuUsage();
const before = performance.now();
await import(bundle);
const wall = performance.now() - before;
const { user } = process.cpuUsage(cpuBefore);
process.stdout.write(JSON.stringify({ wall, user: user / 1000 }));
process.exit(0);

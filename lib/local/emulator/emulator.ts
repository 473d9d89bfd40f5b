import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EngineError } from '../errors.ts';

/** The embedded S3 and SQS engine. It checks no credentials: only the AWS front and the engine itself talk to it. */
export interface Emulator {
  readonly port: number;
  createBucket(name: string): Promise<void>;
  /** One SQS action in its JSON protocol. @throws EngineError with the code of a refusal. */
  sqs(action: string, input: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

/**
 * Start the engine.
 *
 * @param dataDir folder that keeps its state; `undefined`: memory.
 * @param onDeath called when its process ends without being asked to.
 */
export async function startEmulator(
  region: string,
  dataDir: string | undefined,
  onDeath: () => void,
): Promise<Emulator> {
  const options = dataDir ? { queuesDir: join(dataDir, 'queues'), objectsDir: join(dataDir, 'objects') } : {};
  const child = fork(
    fileURLToPath(new URL('./emulator-process.ts', import.meta.url)),
    [JSON.stringify({ region, ...options })],
    { execArgv: ['--disable-warning=ExperimentalWarning'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  );
  const exited = once(child, 'exit');
  const started = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (!started) throw new EngineError('the embedded S3 and SQS engine did not start');
  const { port } = started[0] as { port: number };
  let stopping = false;
  void exited.then(() => stopping || onDeath());
  const base = `http://127.0.0.1:${port}`;
  return {
    port,
    async createBucket(name) {
      const response = await fetch(`${base}/${name}`, { method: 'PUT' });
      if (!response.ok) throw new EngineError(`bucket ${name}: ${await response.text()}`);
    },
    async sqs(action, input) {
      const response = await fetch(base, {
        method: 'POST',
        headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` },
        body: JSON.stringify(input),
      });
      const output = (await response.json()) as Record<string, unknown>;
      if (!response.ok) throw new EngineError(`${action}: ${String(output['__type'])} ${String(output['message'])}`);
      return output;
    },
    async stop() {
      stopping = true;
      if (child.connected) child.disconnect();
      const killer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exited;
      clearTimeout(killer);
    },
  };
}

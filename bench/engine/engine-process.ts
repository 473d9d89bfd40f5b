import { join } from 'node:path';
/** The engine in its own process, as `npm start` runs it: its memory is not that of the benchmark. */
import { startEngine } from '../../lib/local/engine.ts';

const [assemblyDir = '', dataDir = ''] = process.argv.slice(2);
const engine = await startEngine({ assemblyDir, dataDir, connectionPath: join(dataDir, 'connection.json') });
/**
 * Any message asks for the milliseconds of the first invocation of each function in a new process. `migrate` is left out, because
 * no caller waits for it, and its invocation is the migration.
 */
process.on('message', async () => {
  const { functions } = engine;
  await functions.recycle();
  const times: number[] = [];
  for (const name of functions.names.filter((each) => each !== 'migrate')) {
    const started = performance.now();
    // Most refuse this event, which does not matter here.
    await functions.invoke(name, {});
    times.push(performance.now() - started);
  }
  process.send?.(times);
});
process.on('disconnect', () => void engine.stop().then(() => process.exit()));
process.send?.(engine.connectionPath);

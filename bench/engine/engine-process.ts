import { join } from 'node:path';
/** The engine in its own process, as `npm start` runs it: its memory is not that of the benchmark. */
import { startEngine } from '../../lib/local/engine.ts';

const [assemblyDir = '', dataDir = ''] = process.argv.slice(2);
const engine = await startEngine({ assemblyDir, dataDir, connectionPath: join(dataDir, 'connection.json') });
process.on('disconnect', () => void engine.stop().then(() => process.exit()));
process.send?.(engine.connectionPath);

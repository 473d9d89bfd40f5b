import { writeFileSync } from 'node:fs';
import { recordedRun } from './run.ts';
import { picturePath, recordingSvg } from './svg.ts';

/** Writes the picture of README.md from a new run: `npm run recording`. */
writeFileSync(picturePath, recordingSvg(await recordedRun()));
process.stdout.write(`wrote ${picturePath}\n`);

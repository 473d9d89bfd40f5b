import { Service } from '../../test/helpers/service.ts';
import { cipherSpeed } from '../cipher-speed.ts';
import type { Report } from '../report.ts';
import { Client } from './client.ts';
import { datasetFiles } from './dataset-files.ts';
import { firstByte } from './first-byte.ts';
import { memory } from './memory.ts';
import { Stage } from './stage.ts';
import { transfers } from './transfers.ts';

const mebibyte = 2 ** 20;
/** One reply may have 200 MB at most. */
const largeBytes = Number(process.env.DATA_OUT_BENCH_MIB ?? 190) * mebibyte;
/** Its container is streamed, not assembled. */
const smallBytes = 5.5 * mebibyte;

/** Direct access: files and listings of files, from the real template on the local engine. */
export default async function dataOut(report: Report): Promise<void> {
  const cipher = await cipherSpeed();
  const service = await Service.start();
  const client = new Client();
  try {
    const stage = await Stage.set(service, client);
    const files = await stage.archive([mebibyte, smallBytes, Math.ceil(largeBytes / 4), largeBytes]);
    const [, small, medium, large] = files;
    if (!small || !medium || !large) throw new Error('not all files were archived');
    // This order counts: a peak never falls, and only the first part sends one request at a time.
    await memory(report, stage, files);
    await firstByte(report, stage, medium);
    await transfers(report, stage, { small, large }, cipher);
    await datasetFiles(report, stage);
  } finally {
    client.stop();
    await service.stop();
  }
}

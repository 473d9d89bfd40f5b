import { join } from 'node:path';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { Service } from '../helpers/service.ts';
import { closeBrowser, World } from './world.ts';

/** Writes `docs/pictures/admin.png`: the administrators' page in the middle of a real run, with made-up ids. */
const to = join(import.meta.dirname, '../../docs/pictures/admin.png');
const datasets = ['EGAD00000000001', 'EGAD00000000002', 'EGAD00000000003'] as const;
const [first, second, third] = datasets;
const { publicKey } = generateKeyPair();

const service = await Service.start();
const world = new World(service);
let file = 0;
for (const [index, dataset] of datasets.entries()) {
  for (let count = 0; count < 3 - (index % 2); count += 1) {
    file += 1;
    const id = `EGAF${String(file).padStart(11, '0')}`;
    await service.archive(dataset, `study/sample-${file}.bam`, 1_500_000 * file, id);
  }
  await service.setDataset(dataset, 'released');
}
const order = async (dataset: string, granted = dataset) =>
  await service.exported({ id: dataset, visa: await service.visa({ datasetId: granted }), publicKey });

for (const dataset of [first, second]) await service.settled(await order(dataset), 2);
await service.settled(await order(third, first));
// The last file of one export waits.
service.engine.traffic.addFault(({ caller, key }) =>
  caller.startsWith('stage-') && key?.includes('EGAF00000000008') ? { delayMs: 60_000 } : undefined,
);
await order(third);
const ago = ['requested_at', 'settled_at'].map((column) => `${column} = ${column} - interval '1 hour'`);
await service.sql(`update data_out.requests set ${ago.join(', ')} where state <> 'accepted'`);

const tab = await world.signIn({ viewport: { width: 1280, height: 840 }, colorScheme: 'light' });
await tab.rows.filter({ hasText: 'rejected' }).getByRole('button').click();
await tab.page.getByText('not_entitled: ').waitFor();
await tab.field('Identifier').fill('EGAD00000000004');
await tab.rows.filter({ hasText: '2 of 3' }).waitFor({ timeout: 30_000 });
await tab.page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
await tab.page.screenshot({ path: to, animations: 'disabled' });

await world.closeTabs();
await closeBrowser();
await service.stop();

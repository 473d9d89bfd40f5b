import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { DataOutError } from '../../errors.ts';
import { type Columns, counted, formatBytes, printable } from '../../terminal/output.ts';
import type { InventoryDataset } from '../catalogue/inventory.ts';
import type { DatasetEvent } from '../catalogue/writer.ts';
import type { Target } from '../target.ts';
import { examples, type Open, showRows } from './session.ts';

const columns: Columns<InventoryDataset> = [
  ['DATASET', ({ datasetId }) => datasetId],
  ['STATE', ({ newestEvent }) => newestEvent ?? 'no event'],
  ['FILES', ({ files }) => String(files), 'right'],
  ['SIZE', ({ bytes }) => formatBytes(bytes), 'right'],
];

/** `dataset release|deprecate|show <id>` and `dataset list`. */
export function registerDataset(program: Command, open: Open): void {
  const dataset = program.command('dataset').description('datasets and their release state');

  for (const [verb, event, effect] of [
    ['release', 'released', 'let a dataset be exported'],
    ['deprecate', 'deprecated', 'stop exports of a dataset; the setting withdrawal decides about staged files'],
  ] as const) {
    dataset
      .command(verb)
      .description(effect)
      .argument('<id>', 'dataset id, EGAD...')
      .addHelpText('after', examples(`dataset ${verb} EGAD00000000001`))
      .action(async (datasetId, _options, command) => {
        const { target, output } = open(command);
        const summary = await setDatasetEvent(await target(), datasetId, event);
        const files = `${counted(summary.files, 'file')}, ${formatBytes(summary.bytes)}`;
        output.result({ ...summary }, `${printable(datasetId)} is ${event} (${files})`);
        if (event === 'released' && summary.files === 0) {
          output.warn('the dataset has no files, so an export of it is rejected: data-out-ops archive add');
        }
      });
  }

  dataset
    .command('show')
    .description('one dataset')
    .argument('<id>', 'dataset id, EGAD...')
    .addHelpText('after', examples('dataset show EGAD00000000001'))
    .action(async (datasetId, _options, command) => {
      const { target, output } = open(command);
      output.table(columns, [await findDataset(await target(), datasetId)]);
    });

  dataset
    .command('list')
    .description('list all datasets')
    .addHelpText('after', examples('dataset list --json'))
    .action(async (_options, command) => {
      const { target, output } = open(command);
      await showRows(output, columns, (await target()).catalogue.datasets(), 'note: there are no datasets yet');
    });
}

/** Make `event` the newest of a dataset. A state that the dataset has already is not recorded twice. @throws `not_found` */
export async function setDatasetEvent(target: Pick<Target, 'catalogue'>, datasetId: string, event: DatasetEvent) {
  await target.catalogue.appendDatasetEvent(datasetId, event);
  return await findDataset(target, datasetId);
}

/** @throws `not_found` */
export async function findDataset({ catalogue }: Pick<Target, 'catalogue'>, datasetId: string) {
  const summary = await catalogue.findDataset(datasetId);
  if (summary) return summary;
  throw new DataOutError('not_found', `there is no dataset ${datasetId}: data-out-ops dataset list shows the datasets`);
}

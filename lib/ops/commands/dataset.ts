import type { Command } from 'commander';
import { NotFoundError } from '../../errors.ts';
import { counted, formatBytes, printable } from '../../terminal/output.ts';
import type { InventoryDataset } from '../catalogue/inventory.ts';
import type { Target } from '../target.ts';
import { type CommandContext, openSession, showRows } from './session.ts';

const columns = [
  { title: 'DATASET' },
  { title: 'STATE' },
  { title: 'FILES', align: 'right' },
  { title: 'SIZE', align: 'right' },
] as const;

/** `dataset release|deprecate|show <id>` and `dataset list`. */
export function registerDataset(program: Command, context: CommandContext): void {
  const dataset = program
    .command('dataset')
    .description('datasets and their release state')
    .addHelpText('after', '\nExample:\n  data-out-ops dataset release EGAD00000000001');

  for (const [verb, event, effect] of [
    ['release', 'released', 'let a dataset be exported'],
    ['deprecate', 'deprecated', 'stop exports of a dataset; the setting withdrawal says what becomes of staged files'],
  ] as const) {
    dataset
      .command(verb)
      .description(effect)
      .argument('<id>', 'stable id, EGAD...')
      .addHelpText('after', `\nExample:\n  data-out-ops dataset ${verb} EGAD00000000001`)
      .action(async (datasetId: string, _options: unknown, command: Command) => {
        const session = openSession(context, command);
        const summary = await setDatasetEvent(await session.target(), datasetId, event);
        session.output.result({ ...summary }, `${printable(datasetId)} is ${event} (${describeFiles(summary)})`);
        if (event === 'released' && summary.files === 0) {
          session.output.warn('the dataset has no files, so an export of it is rejected: data-out-ops archive add');
        }
      });
  }

  dataset
    .command('show')
    .description('one dataset')
    .argument('<id>', 'stable id, EGAD...')
    .addHelpText('after', '\nExample:\n  data-out-ops dataset show EGAD00000000001')
    .action(async (datasetId: string, _options: unknown, command: Command) => {
      const session = openSession(context, command);
      const summary = await findDataset(await session.target(), datasetId);
      session.output.table(columns, [summary], cellsOf);
    });

  dataset
    .command('list')
    .description('list all datasets')
    .addHelpText('after', '\nExample:\n  data-out-ops dataset list --json')
    .action(async (_options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { catalogue } = await session.target();
      const none = 'note: there is no dataset yet';
      await showRows(session.output, columns, catalogue.datasets(), { cells: cellsOf, none });
    });
}

/**
 * Make `event` the newest of a dataset. A state that the dataset has already is not recorded twice.
 * @throws NotFoundError when the catalogue has no such dataset
 */
export async function setDatasetEvent(
  { catalogue }: Pick<Target, 'catalogue'>,
  datasetId: string,
  event: 'released' | 'deprecated',
): Promise<InventoryDataset> {
  await findDataset({ catalogue }, datasetId);
  await catalogue.appendDatasetEvent(datasetId, event);
  return await findDataset({ catalogue }, datasetId);
}

async function findDataset({ catalogue }: Pick<Target, 'catalogue'>, datasetId: string): Promise<InventoryDataset> {
  const summary = await catalogue.findDataset(datasetId);
  if (!summary) {
    throw new NotFoundError(`there is no dataset ${datasetId}: data-out-ops dataset list shows those that are there`);
  }
  return summary;
}

function cellsOf({ datasetId, newestEvent, files, bytes }: InventoryDataset): string[] {
  return [printable(datasetId), newestEvent ?? 'no event', String(files), formatBytes(bytes)];
}

function describeFiles({ files, bytes }: InventoryDataset): string {
  return `${counted(files, 'file')}, ${formatBytes(bytes)}`;
}

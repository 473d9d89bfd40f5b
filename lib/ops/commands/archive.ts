import type { Command } from 'commander';
import { registerArchiveAdd } from './archive-add.ts';
import { registerArchiveList } from './archive-list.ts';
import { registerArchiveRemove } from './archive-remove.ts';
import type { CommandContext } from './session.ts';

/** `archive add|list|show|remove`: the files of the archive. */
export function registerArchive(program: Command, context: CommandContext): void {
  const archive = program
    .command('archive')
    .description('files of the archive')
    .addHelpText('after', '\nExample:\n  data-out-ops archive add sample.bam --dataset EGAD00000000001');
  registerArchiveAdd(archive, context);
  registerArchiveList(archive, context);
  registerArchiveRemove(archive, context);
}

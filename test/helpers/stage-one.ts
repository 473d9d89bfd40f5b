import type { Delivery, StageDependencies } from '../../lib/service/export/export-order.ts';
import type { ReceivedMessage } from '../../lib/service/export/received.ts';
import { type StageOutcome, stageFiles } from '../../lib/service/export/stage.ts';

/** Stage one file, a batch of its own. @throws what brings its message back */
export async function stageFile(
  message: ReceivedMessage,
  dependencies: StageDependencies,
  { redelivered, isLast = false, remainingMs }: Delivery & { readonly isLast?: boolean },
): Promise<StageOutcome> {
  const [end] = await stageFiles([{ ...message, redelivered, isLast }], dependencies, remainingMs);
  if (end?.status !== 'fulfilled') throw end?.reason;
  return end.value;
}

import type { Delivery, StageDependencies } from '../../lib/service/export/export-order.ts';
import type { ReceivedMessage } from '../../lib/service/export/received.ts';
import { type StageOutcome, stageFiles } from '../../lib/service/export/stage.ts';

/** Stage one file, its own batch. @throws what brings its message back */
export async function stageFile(
  message: Omit<ReceivedMessage, 'receive'>,
  dependencies: StageDependencies,
  { redelivered, isLast = false, remainingMs }: Delivery & { readonly isLast?: boolean },
): Promise<StageOutcome> {
  const receive = { count: redelivered ? 2 : 1, isLast };
  const [end] = await stageFiles([{ ...message, receive }], dependencies, remainingMs);
  if (end?.status !== 'fulfilled') throw end?.reason;
  return end.value;
}

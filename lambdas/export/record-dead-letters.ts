import { metrics as names } from '../../lib/contract/metrics.ts';
import { recordDeadLetter } from '../../lib/service/export/give-up.ts';
import { sqsClient } from '../../lib/service/stores/clients.ts';
import { countBy, logger } from '../shared/observability.ts';
import { type AnnouncedTo, announce } from '../shared/outcomes.ts';
import { type HandleMessage, oneByOne, queueHandler } from '../shared/queue.ts';
import { database, deployedDeliveries, deployedEvents } from '../shared/wiring.ts';

const sqs = sqsClient();
const deliveries = deployedDeliveries(sqs);

/**
 * Consumer of all dead-letter queues: the rows of a message that failed for good say so, and the message goes. One that cannot be
 * read stays for an operator.
 */
export const handler = queueHandler({
  sqs,
  stage: 'record',
  handle: oneByOne(recordMessage({ db: database(), deliveries }, deployedEvents())),
});

/** Handles one dead letter. A throw leaves it where it is. */
export function recordMessage(
  dependencies: Parameters<typeof recordDeadLetter>[1],
  events?: AnnouncedTo,
): HandleMessage {
  return async (message, context) => {
    const { requestId, isRejected, givenUp } = await recordDeadLetter(message, dependencies);
    for (const { reason, files } of givenUp) countBy(names.fileGivenUp, reason, files);
    if (isRejected) countBy(names.exportRejected, 'failed');
    logger.error('given up', { requestId, isRejected, givenUp });
    if (isRejected) await announce(events, { requestId, state: 'rejected' }, context);
  };
}

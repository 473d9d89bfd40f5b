/**
 * Days for which a container may outlive its expiry. S3 counts an expiry from the next midnight UTC, and deletes some time
 * later. AWS names no longest time.
 */
export const lateDays = 2;

/** Whether an object of the outbox may still be there. The statement takes the parameter `days` of {@link expiryParameter}. */
export const mayBeThere = (writtenAt: string) => `${writtenAt} > now() - make_interval(days => cast(:days as integer))`;

/**
 * Whether a request `r` may have such an object. Closing a request changes its row after the last of its files, and a file that
 * changes later opens the request again.
 */
export const mayHaveObjects = `(r.settled_generation < r.generation or ${mayBeThere('r.updated_at')})`;

/** @param expiryDays days after which the lifecycle rule of the bucket deletes an object */
export const expiryParameter = (expiryDays: number) => ({ days: expiryDays + lateDays });

import { ClientError } from '../client/errors.ts';

/** A wrong argument, option or setting. @param source its name, as the user wrote it: `--range`, `DATA_OUT_URL` */
export function usageError(source: string, message: string, remedy?: string): ClientError {
  return new ClientError('usage', `${source}: ${message}`, { remedy });
}

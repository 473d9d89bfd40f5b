import { type DescribeFileError, type DescribeFileReply, describeFileRequest } from '../../lib/contract/messages.ts';
import { isDamage, isError } from '../../lib/errors.ts';
import { directCatalogue } from '../../lib/service/catalogue/direct-catalogue.ts';
import { describeFile } from '../../lib/service/direct/plaintext.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { describeError, logger } from '../shared/observability.ts';
import { deployedArchive, promptDatabase } from '../shared/wiring.ts';

const dependencies = { catalogue: directCatalogue(promptDatabase()), ...deployedArchive(s3Client()) };

/**
 * Describes a file to `Drs`, which strangers reach. This function has the archive's keys and no route. It takes two ids, and
 * its reply holds nothing of header or key. The reply to an unforeseen error says that it failed, without the error's text.
 */
export async function handler(event: unknown): Promise<DescribeFileReply> {
  const request = describeFileRequest.safeParse(event).data;
  if (!request) throw new Error('expected a fileId and a datasetId');
  try {
    return { description: await describeFile(request, dependencies) };
  } catch (error) {
    const known = errorFor(error);
    const code = isError(error) ? error.code : 'internal_error';
    const details = { ...request, code, ...describeError(error) };
    if (known?.code === 'forbidden') logger.info('not described', details);
    else logger.error('not described', details);
    if (known) return { error: known };
    throw new Error('the file was not described');
  }
}

function errorFor(error: unknown): DescribeFileError | undefined {
  if (isError(error, 'forbidden')) return { code: 'forbidden' };
  // The log says which damage it is. The caller gets one code for all.
  if (isDamage(error)) return { code: 'archive_damaged' };
  const { retryAfterSeconds } = isError(error) ? error : {};
  return retryAfterSeconds === undefined ? undefined : { code: 'temporarily_unavailable', retryAfterSeconds };
}

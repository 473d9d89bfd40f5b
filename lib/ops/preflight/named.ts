import type { AwsAccount } from '../stores/account.ts';
import { type Asked, fine, type Outcome, type Question, review, wrong } from './outcome.ts';

/** Questions about buckets and secrets that the settings name. */
export function named(asked: Asked): readonly Question[] {
  return [...buckets(asked), ...secrets(asked)];
}

function buckets({ account, region, settings }: Asked): readonly Question[] {
  const all = [...(settings.archiveBucket ? [settings.archiveBucket] : []), ...(settings.otherArchiveBuckets ?? [])];
  return all.flatMap(({ bucketName }) => [
    {
      id: `bucket-${bucketName}`,
      check: `the bucket ${bucketName}`,
      ask: async () => {
        const found = await account.bucket(bucketName);
        if (found === undefined) return wrong('there is none of this name', 'Correct the name in private/settings.ts.');
        if (found === region) return fine(`in ${region}`);
        const where = found === 'elsewhere' ? 'another region' : found;
        return wrong(`it is in ${where}`, `Archive buckets must be in ${region}.`);
      },
    },
    { id: `read-${bucketName}`, check: `a test read from ${bucketName}`, ask: () => testRead(account, bucketName) },
  ]);
}

/**
 * Read as the functions will: by rights of IAM, and outside of every VPC. What the policy of the bucket or of its key refuses to these
 * credentials, it refuses to the functions, unless it names them.
 */
async function testRead(account: AwsAccount, bucketName: string): Promise<Outcome> {
  try {
    return (await account.testRead(bucketName))
      ? fine('one byte of an object')
      : review('the bucket is empty', 'Ask again when it has an object.');
  } catch (error) {
    // The words of AWS: a refusal by the caller's own policies says something of the caller only.
    const [reason] = /(explicit deny in|no) (a )?resource-based policy\b.*/.exec(String(error)) ?? [];
    if (reason === undefined) throw error;
    return wrong(
      `refused: ${reason}`,
      'Let the policies of the bucket and of its key leave the decision to IAM, and name no aws:SourceVpce that the functions have not.',
    );
  }
}

function secrets({ account, settings: { archiveKeysSecret, database: wanted } }: Asked): readonly Question[] {
  const existing = 'clusterArn' in wanted ? wanted : undefined;
  const all = {
    'archiveKeysSecret.secretArn': archiveKeysSecret?.secretArn,
    'database.secretArn': existing?.secretArn,
  };
  return Object.entries(all).flatMap(([field, arn]) => {
    if (arn === undefined) return [];
    const ask = async () =>
      (await account.hasSecret(arn))
        ? fine('it exists')
        : wrong(`there is no ${arn}`, `Correct ${field} in private/settings.ts.`);
    return [{ id: `secret-${field}`, check: `the secret ${field}`, ask }];
  });
}

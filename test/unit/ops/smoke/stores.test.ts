import { DeleteObjectsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, test } from 'vitest';
import { removeSmokeObjects } from '../../../../lib/ops/stores/smoke-objects.ts';

describe('removing objects of smoke tests', () => {
  const deleted: string[] = [];
  const client = new S3Client({ region: 'eu-north-1' });
  client.send = (async (command: unknown) => {
    if (command instanceof ListObjectsV2Command) {
      return { Contents: [{ Key: 'SMOKE-1/1' }, { Key: 'SMOKE-2/1' }] };
    }
    if (!(command instanceof DeleteObjectsCommand)) throw new Error('an unknown call');
    const { Objects = [] } = command.input.Delete ?? {};
    deleted.push(...Objects.map(({ Key = '' }) => Key));
    return {};
  }) as S3Client['send'];
  beforeEach(() => {
    deleted.length = 0;
  });

  test('deletes all below the prefix', async () => {
    expect(await removeSmokeObjects(client, { bucket: 'b', prefix: 'SMOKE-' })).toBe(2);
    expect(deleted).toEqual(['SMOKE-1/1', 'SMOKE-2/1']);
  });

  test.each(['', '/', 'EGAD1/', 'SMOKE', `${'a'.repeat(64)}/`, `${'a'.repeat(64)}/EGAF1`, `x/SMOKE_2d1`])(
    'refuses the prefix %j',
    async (prefix) => {
      await expect(removeSmokeObjects(client, { bucket: 'b', prefix })).rejects.toThrow(RangeError);
      expect(deleted).toEqual([]);
    },
  );
});

import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { describe, expect, it } from 'vitest';
import { authenticate } from '../../../../lib/local/endpoint/authenticate.ts';
import { AwsError } from '../../../../lib/local/endpoint/errors.ts';
import { parseSignature, verifySignature } from '../../../../lib/local/endpoint/sigv4.ts';
import { Credentials } from '../../../../lib/local/iam/credentials.ts';

/** Amazon S3 API reference, "Authenticating Requests: Using Query Parameters", the published example. */
const published = {
  secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  request: {
    method: 'GET',
    path: '/test.txt',
    query:
      'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    headers: { host: 'examplebucket.s3.amazonaws.com' },
  },
};

describe('a signature', () => {
  it('is that of the published example', async () => {
    const signature = parseSignature(published.request);
    expect(signature).toMatchObject({ accessKeyId: 'AKIAIOSFODNN7EXAMPLE', service: 's3', expiresSeconds: 86_400 });
    expect(signature && (await verifySignature(published.request, signature, published.secret, ''))).toBe(true);
    expect(signature && (await verifySignature(published.request, signature, 'another', ''))).toBe(false);
  });
});

describe('a presigned URL', () => {
  const credentials = new Credentials();
  const signer = credentials.issueForRole('stream', 'arn:aws:iam::000000000000:role/stream', []);
  const now = new Date('2026-11-20T12:00:00Z');
  const presign = async () => {
    const client = new S3Client({
      region: 'eu-north-1',
      endpoint: 'http://127.0.0.1:9000',
      credentials: { ...signer, sessionToken: signer.sessionToken ?? '' },
    });
    const command = new GetObjectCommand({
      Bucket: 'outbox',
      Key: `dir/a b+(c)'é.c4gh`,
      ResponseContentDisposition: 'attachment; filename="a b.c4gh"',
    });
    return new URL(await getSignedUrl(client, command, { expiresIn: 900, signingDate: now }));
  };
  const check = async (url: URL, at: Date = now, extra: Readonly<Record<string, string>> = {}, method = 'GET') => {
    const request = { method, path: url.pathname, query: url.search.slice(1), headers: { host: url.host, ...extra } };
    const authentication = authenticate(request, credentials, at);
    await authentication.verify('');
    return authentication;
  };
  const refusal = async (attempt: () => Promise<unknown>) => {
    try {
      await attempt();
    } catch (error) {
      if (error instanceof AwsError) return [error.status, error.code];
      throw error;
    }
    return undefined;
  };

  it('of the AWS SDK is that of its signer', async () => {
    expect(await check(await presign())).toMatchObject({ principal: signer, service: 's3', presigned: true });
  });

  it('is refused when it was changed, or is used with another method', async () => {
    const url = await presign();
    const changed = new URL(url.href.replace('dir/', 'dis/'));
    expect(await refusal(() => check(changed))).toEqual([403, 'SignatureDoesNotMatch']);
    const longer = new URL(url.href.replace('X-Amz-Expires=900', 'X-Amz-Expires=9000'));
    expect(await refusal(() => check(longer))).toEqual([403, 'SignatureDoesNotMatch']);
    expect(await refusal(() => check(url, now, {}, 'HEAD'))).toEqual([403, 'SignatureDoesNotMatch']);
  });

  it('expires', async () => {
    const url = await presign();
    expect(await refusal(() => check(url, new Date(now.getTime() + 900_000)))).toBeUndefined();
    expect(await refusal(() => check(url, new Date(now.getTime() + 901_000)))).toEqual([403, 'AccessDenied']);
  });

  it('of a key that is not known, or without the session token, is refused', async () => {
    const url = await presign();
    const unknown = new URL(url.href.replace(signer.accessKeyId, 'ASIAUNKNOWN'));
    expect(await refusal(() => check(unknown))).toEqual([403, 'InvalidAccessKeyId']);
    const bare = new URL(url);
    bare.searchParams.delete('X-Amz-Security-Token');
    expect(await refusal(() => check(bare))).toEqual([400, 'InvalidToken']);
  });
});

import { createHash } from 'node:crypto';
import { decryptSegments, openHeader, splitContainer } from '../../lib/crypt4gh/index.ts';

/** What a recipient got. Sizes in bytes, digests hex SHA-256. */
export interface Received {
  readonly containerSize: number;
  readonly headerSize: number;
  /** Of the encrypted body. */
  readonly bodySha256: string;
  readonly plaintextSize: number;
  readonly plaintextSha256: string;
}

/** Decrypt a container as it comes, in constant memory. @throws Crypt4ghError */
export async function receive(source: AsyncIterable<Uint8Array>, privateKey: Uint8Array): Promise<Received> {
  const { header, body } = await splitContainer(source);
  const { dataKeys, editList } = openHeader(header, [privateKey]);
  const bodyHash = createHash('sha256');
  const plaintextHash = createHash('sha256');
  let bodySize = 0;
  let plaintextSize = 0;
  const watched = async function* () {
    for await (const chunk of body) {
      bodySize += chunk.length;
      bodyHash.update(chunk);
      yield chunk;
    }
  };
  for await (const chunk of decryptSegments(watched(), { dataKeys, editList })) {
    plaintextSize += chunk.length;
    plaintextHash.update(chunk);
  }
  return {
    containerSize: header.length + bodySize,
    headerSize: header.length,
    bodySha256: bodyHash.digest('hex'),
    plaintextSize,
    plaintextSha256: plaintextHash.digest('hex'),
  };
}

/**
 * Crypt4GH, version 1 (GA4GH File Encryption Standard): the format alone, bytes in, bytes out. "Crypt4GH § n" in this
 * folder is a section of that standard; key files follow the key format of its Python reference implementation.
 */
export { addRecipients } from './add-recipients.ts';
export type { ByteSource, Random } from './bytes.ts';
export {
  type DecryptOptions,
  decrypt,
  type EncryptOptions,
  encrypt,
  type SplitContainer,
  splitContainer,
} from './container.ts';
export { editedSize } from './edit-list.ts';
export { encryptHeader } from './encrypt-header.ts';
export * from './errors.ts';
export { decryptFile, encryptFile, type FileOptions } from './files.ts';
export { headerLength, headerLimits } from './header.ts';
export type { Kdf } from './kdf.ts';
export { type OpenedHeader, openHeader } from './open-header.ts';
export type { Payload } from './payloads.ts';
export {
  type BodyPosition,
  type ByteRange,
  bodyPosition,
  bodyRange,
  decryptedRange,
  encryptedRange,
  type PlainPosition,
  plainPosition,
  plainRange,
} from './positions.ts';
export { formatPrivateKey, inspectPrivateKey, type PrivateKeyInspection, parsePrivateKey } from './private-key.ts';
export { formatPublicKey, parsePublicKey, publicKeyFingerprint } from './public-key.ts';
export { type ContainerReader, openContainer } from './reader.ts';
export { rearrange } from './rearrange.ts';
export { planRearrangement, type Rearrangement, type VisibleRange } from './rearrangement.ts';
export { type HeaderDerivation, reencryptHeader } from './reencrypt.ts';
export { SegmentWorkers } from './segment-workers.ts';
export {
  type DecryptSegmentsOptions,
  decryptSegments,
  type EncryptSegmentsOptions,
  encryptSegments,
  type SegmentCipher,
} from './segments.ts';
export {
  decryptedSize,
  ENCRYPTED_SEGMENT_BYTES,
  encryptedBodySize,
  encryptedSize,
  type HeaderShape,
  headerSize,
  SEGMENT_BYTES,
} from './sizes.ts';
export { bytesSource, fileSource, type RandomAccessSource } from './source.ts';
export {
  type ByteStreamPair,
  decryptionDuplex,
  decryptionStream,
  encryptionDuplex,
  encryptionStream,
} from './streams.ts';
export { generateKeyPair, type KeyPair, publicKeyOf } from './x25519.ts';

/// <reference types="node" preserve="true" />
/**
 * Crypt4GH, version 1 (GA4GH File Encryption Standard): the format alone, bytes in, bytes out. In this folder "Crypt4GH § n"
 * is a section of that standard. "Key format" is the format of key files of its Python reference implementation.
 */

export {
  type DecryptOptions,
  decrypt,
  type EncryptOptions,
  encrypt,
  type SplitContainer,
  splitContainer,
} from './body/container.ts';
export { type ContainerReader, openContainer } from './body/reader.ts';
export { planRearrangement, type Rearrangement, type VisibleRange } from './body/rearrangement.ts';
export {
  type DecryptSegmentsOptions,
  decryptSegments,
  type EncryptSegmentsOptions,
  encryptSegments,
  type SegmentCipher,
} from './body/segments.ts';
export type { ByteRange, ByteSource, Random } from './bytes.ts';
export * from './errors.ts';
export { addRecipients } from './header/add-recipients.ts';
export { editedSize, type KeptRange, keptRanges } from './header/edit-list.ts';
export { encryptHeader } from './header/encrypt-header.ts';
export { headerLength, headerLimits } from './header/header.ts';
export { type OpenedHeader, openHeader } from './header/open-header.ts';
export type { Payload } from './header/payloads.ts';
export { type HeaderDerivation, reencryptHeader } from './header/reencrypt.ts';
export type { Kdf } from './keys/kdf.ts';
export {
  formatPrivateKey,
  inspectPrivateKey,
  type PrivateKeyInspection,
  parsePrivateKey,
} from './keys/private-key.ts';
export { looksLikePrivateKey } from './keys/private-key-form.ts';
export { formatPublicKey, parsePublicKey, publicKeyFingerprint } from './keys/public-key.ts';
export { generateKeyPair, type KeyPair, publicKeyOf } from './keys/x25519.ts';
export { decryptedSize, ENCRYPTED_SEGMENT_BYTES, encryptedBodySize, SEGMENT_BYTES } from './sizes.ts';
export { fileSource, type RandomAccessSource } from './source.ts';
export { decryptFile, encryptFile } from './threads/files.ts';
export { SegmentWorkers } from './threads/segment-workers.ts';

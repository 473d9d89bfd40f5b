/** What `sda.files.key_hash` holds for headers to this public key, as the neicnordic pipelines write it: lower-case hex. */
export function keyHashOf(publicKey: Uint8Array): string {
  return Buffer.from(publicKey).toString('hex');
}

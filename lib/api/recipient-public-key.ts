/** The violation of a recipient's key that is refused. It names every form that `parsePublicKey` takes. */
export const unusablePublicKey =
  'is not a usable X25519 public key; accepted: Crypt4GH PEM, its base64, base64 of 32 bytes, X25519 SPKI, ssh-ed25519';

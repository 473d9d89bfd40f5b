import tls from 'node:tls';

/** How Node.js names a certificate whose authority it does not have. */
export const unknownAuthority: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

let isTrusted = false;

/** Whether the authorities in the system's store are trusted. */
export function systemStoreIsTrusted(): boolean {
  return isTrusted;
}

/**
 * Trusts the authorities in the system's store, as curl does. Node.js has its own authorities, and to load these takes 0.1 seconds,
 * so it waits for a certificate that needs them.
 * @param code of a connection that failed before
 * @returns whether a new connection can succeed
 */
export function trustSystemStore(code: string): boolean {
  // Node.js before 22.19 cannot.
  if (!unknownAuthority.has(code) || typeof tls.setDefaultCACertificates !== 'function') return false;
  if (!isTrusted)
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...tls.getCACertificates('system')]);
  isTrusted = true;
  return true;
}

/** Whether list and stream insist on the central archive's credentials, or only check those that are sent. */
export const archiveCredentialsPolicies = ['required', 'when-presented'] as const;
export type ArchiveCredentialsPolicy = (typeof archiveCredentialsPolicies)[number];

/** An operator's files in the checkout. Git ignores them, and they override the defaults that it tracks. */
export const operatorFiles = {
  settings: 'private/settings.ts',
  trustedIssuers: 'private/trusted-issuers.json',
} as const;

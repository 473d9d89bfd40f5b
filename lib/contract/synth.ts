/**
 * Context of a synth that turns the setting `adminPage` on when it is `true`. The local engine gives it: its page is for this
 * machine alone, and the operator's settings say what is deployed.
 */
export const adminPageContext = 'data-out:adminPage';

/**
 * Context of a synth that takes the defaults when it is `true`, as the local engine and the tests do. Without it the operator's files
 * are taken, and their absence is an error.
 */
export const defaultsContext = 'data-out:defaults';

/** Context that the service stack sets for its functions: the trust list to bundle, relative to the root of the repository. */
export const trustedIssuersContext = 'data-out:trustedIssuers';

/**
 * Folder of the cloud assembly with the source map of each function's bundle: `<id of its construct>.map`. Sources are
 * relative to a folder beside this one. Not deployed.
 */
export const sourceMapsDir = 'source-maps';

/** An operator's files in the checkout. Git ignores them, and they override the defaults that it tracks. */
export const operatorFiles = {
  settings: 'private/settings.ts',
  trustedIssuers: 'private/trusted-issuers.json',
} as const;

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

/**
 * Context of a synth that turns the setting `adminPage` on when it is `true`. The local engine gives it: its page is for this
 * machine alone, and `bin/settings.ts` says what is deployed.
 */
export const adminPageContext = 'data-out:adminPage';

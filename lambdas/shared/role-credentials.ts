/**
 * Takes the place of `@aws-sdk/credential-provider-node` in the bundles (`lib/infra/functions/bundling.ts`): Lambda gives a
 * function the credentials of its role in the environment, so it never needs the clients of SSO, STS and the metadata
 * services. One of them also imports `node:http`, which alone costs a third of a cold start: Node evaluates every export of
 * an imported built-in module, and some exports of this one load all of its fetch.
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';

/**
 * Takes the place of `@aws-sdk/credential-provider-node` in the bundles (`lib/infra/bundling.ts`): Lambda gives a
 * function the credentials of its role in the environment, so the clients of SSO, STS and the metadata services are
 * nothing but weight. One of them also imports `node:http`, and that alone costs a third of a cold start: Node fills in
 * all names of an imported built-in module, and behind some names of this one is the whole of its fetch.
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';

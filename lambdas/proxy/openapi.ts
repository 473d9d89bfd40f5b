import { openApiHandler } from '../shared/openapi.ts';

/** `GET /openapi.json` of the proxy. */
export const handler = openApiHandler();

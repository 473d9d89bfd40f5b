import { openApiHandler } from '../shared/http.ts';

/** `GET /openapi.json` of the proxy. */
export const handler = openApiHandler();

import { openApiHandler } from '../shared/http.ts';

/** `GET /openapi.json` of the direct API. */
export const handler = openApiHandler();

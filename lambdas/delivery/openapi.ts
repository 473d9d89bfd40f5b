import { openApiHandler } from '../shared/http.ts';

/** `GET /openapi.json` of the delivery API. */
export const handler = openApiHandler();

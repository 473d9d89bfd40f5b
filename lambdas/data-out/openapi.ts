import { openApiHandler } from '../shared/http.ts';

/** `GET /openapi.json` of the data-out API. */
export const handler = openApiHandler();

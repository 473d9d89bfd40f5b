import { openApiHandler } from '../shared/openapi.ts';

/** `GET /openapi.json` of the data-out API. */
export const handler = openApiHandler();

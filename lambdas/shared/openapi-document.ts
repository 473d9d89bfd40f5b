import { readFileSync } from 'node:fs';
import { openApiFile } from '../../lib/contract/environment.ts';
import type { OpenApiDocument } from '../../lib/http/openapi.ts';

/** The document beside the bundle. @throws at start-up when it is missing */
export function openApiDocument(): OpenApiDocument {
  return JSON.parse(readFileSync(new URL(`./${openApiFile}`, import.meta.url), 'utf8')) as OpenApiDocument;
}

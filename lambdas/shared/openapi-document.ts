import { readFileSync } from 'node:fs';
import type { OpenApiDocument } from '../../lib/api/openapi.ts';
import { openApiFile } from '../../lib/contract/environment.ts';

/** The document beside the bundle. @throws at start-up when it is missing */
export function openApiDocument(): OpenApiDocument {
  return JSON.parse(readFileSync(new URL(`./${openApiFile}`, import.meta.url), 'utf8')) as OpenApiDocument;
}

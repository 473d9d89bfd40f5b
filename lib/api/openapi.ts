import { type HttpReply, jsonReply } from '../http/reply.ts';

/** An OpenAPI document, as far as serving it needs to know. */
export interface OpenApiDocument {
  readonly servers: readonly { readonly url: string }[];
}

/** `GET /openapi.json`: the document with the address that the caller used, so that tools call that one. */
export function openApiReply(requestId: string, document: OpenApiDocument, baseUrl: string): HttpReply {
  return jsonReply(requestId, { ...document, servers: [{ url: baseUrl }] });
}

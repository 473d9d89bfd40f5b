/** Clients of other archives for which the direct API can have routes: sda-cli, and pyEGA3 of the EGA. */
export const compatibleClients = ['sda', 'ega'] as const;
export type CompatibleClient = (typeof compatibleClients)[number];

/** A route of the direct API that only such a client asks for. */
export interface CompatibilityRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The function behind it. */
  readonly target: 'datasets' | 'directFile' | 'htsget' | 'serviceInfo';
  /** Why no authorizer is before it. Absent: the authorizer of visas is. */
  readonly open?: string;
}

export const compatibilityRoutes: Readonly<Record<CompatibleClient, readonly CompatibilityRoute[]>> = {
  sda: [
    { method: 'GET', path: '/info', target: 'serviceInfo', open: 'The reply says where to sign in, and nothing else.' },
    { method: 'GET', path: '/datasets', target: 'datasets' },
    { method: 'GET', path: '/datasets/{datasetId}', target: 'datasets' },
    { method: 'GET', path: '/datasets/{datasetId}/files', target: 'datasets' },
    { method: 'GET', path: '/s3/{datasetId}/{path+}', target: 'directFile' },
    { method: 'GET', path: '/htsget/sda/reads/{id+}', target: 'htsget' },
  ],
  ega: [
    { method: 'POST', path: '/ega/token', target: 'datasets', open: 'The function verifies the visa in the form.' },
    { method: 'POST', path: '/ega/userinfo', target: 'datasets' },
    { method: 'POST', path: '/ega/stats', target: 'datasets' },
    { method: 'GET', path: '/ega/{version}/datasets', target: 'datasets' },
    { method: 'GET', path: '/ega/{version}/datasets/{datasetId}/files', target: 'datasets' },
    { method: 'GET', path: '/ega/{version}/files/{fileId}', target: 'datasets' },
    { method: 'GET', path: '/htsget/files/{id+}', target: 'htsget' },
  ],
};

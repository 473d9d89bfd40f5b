/** Clients of other archives for which the direct API can have routes: sda-cli, and pyEGA3 of the EGA. */
export const compatibleClients = ['sda', 'ega'] as const;

/**
 * A route of the direct API that only such a client asks for, with the function behind it. With `open`, which says why, no
 * authorizer is before it. Otherwise the authorizer of visas is.
 */
type CompatibilityRoute = readonly [
  verb: 'GET' | 'POST',
  path: string,
  target: 'datasets' | 'directFile' | 'htsget' | 'serviceInfo',
  open?: string,
];

export const compatibilityRoutes: Readonly<Record<(typeof compatibleClients)[number], readonly CompatibilityRoute[]>> =
  {
    sda: [
      ['GET', '/info', 'serviceInfo', 'The reply says where to sign in, and nothing else.'],
      ['GET', '/datasets', 'datasets'],
      ['GET', '/datasets/{datasetId}', 'datasets'],
      ['GET', '/datasets/{datasetId}/files', 'datasets'],
      ['GET', '/s3/{datasetId}/{path+}', 'directFile'],
      ['GET', '/htsget/sda/reads/{id+}', 'htsget'],
    ],
    ega: [
      ['POST', '/ega/token', 'datasets', 'The function verifies the visa in the form.'],
      ['POST', '/ega/userinfo', 'datasets'],
      ['POST', '/ega/stats', 'datasets'],
      ['GET', '/ega/{version}/datasets', 'datasets'],
      ['GET', '/ega/{version}/datasets/{datasetId}/files', 'datasets'],
      ['GET', '/ega/{version}/files/{fileId}', 'datasets'],
      ['GET', '/htsget/files/{id+}', 'htsget'],
    ],
  };

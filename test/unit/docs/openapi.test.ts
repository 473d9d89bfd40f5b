import { describe, expect, test } from 'vitest';
import { OpenApi } from '../../helpers/openapi.ts';

describe.each(['delivery', 'direct'] as const)('docs/openapi/%s.yaml', (name) => {
  const api = OpenApi.read(name);

  test('is an OpenAPI 3.1 document', async () => {
    expect(await api.problems()).toEqual([]);
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { localPaths } from '../../lib/client/api/download/disk/local-name.ts';
import { isOutboxFileName } from '../../lib/contract/outbox-key.ts';
import { outboxFileName } from '../../lib/service/containers/container-name.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  // Any UTF-16 code units, including lone surrogates.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 }).map((units) => String.fromCharCode(...units)),
  fc.string({ unit: fc.constantFrom('.', '/', '\\', '-', '_', 'a', 'Z', '0', '\u0301', '.c4gh'), maxLength: 300 }),
);
/** Ids as the contract has them (well-formed text), with the characters that could be confused. */
const fileId = fc.oneof(
  fc.string({
    unit: fc.constantFrom('.', '-', '_', '2', 'd', 'f', '/', 'c4gh', 'E', 'CON'),
    minLength: 1,
    maxLength: 12,
  }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 256 }),
);

test('every id and path give a name that the outbox accepts', () => {
  fc.assert(
    fc.property(anyText, anyText, (id, path) => {
      const name = outboxFileName(id, path);
      expect(isOutboxFileName(name), name).toBe(true);
      expect(() => localPaths('/folder', name)).not.toThrow();
      expect(name.endsWith('.c4gh')).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('two file ids never share a name, whatever their paths are', () => {
  fc.assert(
    fc.property(fileId, fileId, anyText, anyText, (one, other, path, otherPath) => {
      fc.pre(one !== other);
      expect(outboxFileName(one, path)).not.toBe(outboxFileName(other, otherPath));
    }),
    { numRuns: 500 },
  );
});

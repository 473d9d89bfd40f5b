import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encryptHeader, openHeader } from '../../lib/crypt4gh/index.ts';
import { rangeNotSatisfiable } from '../../lib/errors.ts';
import { between, plaintextOf } from '../../lib/service/direct/plaintext.ts';
import { representationReply } from '../../lib/service/direct/representation.ts';
import type { ReplyBody } from '../../lib/service/http/reply.ts';
import { collect, generatedPlaintext } from '../helpers/crypt4gh-vectors.ts';
import { applyPlainly, editLists } from '../helpers/edit-lists.ts';
import { ExportWorld, vector, vectorKey } from '../helpers/export-world.ts';
import { httpRequest } from '../helpers/http-request.ts';
import { runs } from '../helpers/runs.ts';

const numRuns = runs(80);
/** The plaintext of `edit/body.bin`, by its makers. */
const plaintext = generatedPlaintext('vectors/edit-body', 200_000);
const owner = vectorKey('alice');
const { dataKeys } = openHeader(vector('edit/plain.header.bin'), [owner.privateKey]);

/** The file of the vectors with another edit list in its stored header, and the bytes that the list leaves. */
async function fileWith(editList: readonly bigint[] | undefined) {
  const world = new ExportWorld();
  world.addFile('EGAF1', vector('edit/body.bin'));
  const header = encryptHeader({ dataKeys, editList, recipients: [owner.publicKey] });
  const file = { ...world.catalogue.files.get('EGAF1')!, datasetId: 'EGAD1', header };
  return { made: await plaintextOf(file, world.direct), visible: applyPlainly(plaintext, editList ?? []) };
}

const lists = fc.option(editLists, { nil: undefined });
const position = fc.oneof(
  fc.constantFrom(0, 1, 65_535, 65_536, 65_537, 131_072, 199_999, 200_000, 200_001),
  fc.integer({ min: 0, max: 201_000 }),
  fc.integer({ min: 0, max: 2_000 }),
);

/** What a client that knows nothing but RFC 9110 expects of a single range. */
function expected(visible: Buffer, first: number | undefined, last: number | undefined): Buffer | 'whole' | 'none' {
  if (first === undefined) {
    if (last === 0) return 'none';
    return visible.length === 0 ? 'whole' : visible.subarray(Math.max(0, visible.length - (last ?? 0)));
  }
  if (last !== undefined && last < first) return 'whole';
  if (first >= visible.length) return 'none';
  return visible.subarray(first, last === undefined ? undefined : last + 1);
}

async function received(body: ReplyBody): Promise<Buffer> {
  return collect(body as AsyncIterable<Uint8Array>);
}

test('any range of any edited file is that range of the whole edited file', async () => {
  await fc.assert(
    fc.asyncProperty(
      lists,
      fc.option(position, { nil: undefined }),
      fc.option(position, { nil: undefined }),
      async (editList, first, last) => {
        fc.pre(first !== undefined || last !== undefined);
        const { made, visible } = await fileWith(editList);
        const wanted = expected(visible, first, last);
        const headers = { Range: `bytes=${first ?? ''}-${last ?? ''}` };
        const reply = representationReply(httpRequest({ headers }), made, () => {});
        if (wanted === 'none') {
          await expect(reply).rejects.toEqual(rangeNotSatisfiable(visible.length));
          return;
        }
        const { status, headers: told, body } = await reply;
        const bytes = wanted === 'whole' ? visible : wanted;
        expect([status, told['Content-Length']]).toEqual([wanted === 'whole' ? 200 : 206, String(bytes.length)]);
        expect((await received(body)).equals(bytes)).toBe(true);
        if (wanted === 'whole') return;
        const [, from, to, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(told['Content-Range'] ?? '') ?? [];
        expect(Number(size)).toBe(visible.length);
        expect(visible.subarray(Number(from), Number(to) + 1).equals(bytes)).toBe(true);
      },
    ),
    { numRuns },
  );
});

test('any coordinates of any edited file give those bytes of the whole edited file', async () => {
  await fc.assert(
    fc.asyncProperty(lists, position, fc.integer({ min: 1, max: 150_000 }), async (editList, start, length) => {
      const { made, visible } = await fileWith(editList);
      if (start >= visible.length) {
        expect(() => between({ start, end: start + length }, made)).toThrow(
          expect.objectContaining({ code: 'range_not_satisfiable' }),
        );
        return;
      }
      const part = between({ start, end: start + length }, made);
      const bytes = visible.subarray(start, start + length);
      const { headers, body } = await representationReply(httpRequest(), part, () => {});
      expect(headers['Content-Length']).toBe(String(bytes.length));
      expect((await received(body)).equals(bytes)).toBe(true);
    }),
    { numRuns },
  );
});

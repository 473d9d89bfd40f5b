import fc from 'fast-check';
import { expect, test } from 'vitest';
import { outboxMetadata } from '../../lib/contract/outbox-key.ts';
import { damaged, unavailable } from '../../lib/errors.ts';
import type { MultipartUpload, ObjectHead, OutboxWriter, UploadedPart } from '../../lib/service/archive/ports.ts';
import type { StageDependencies } from '../../lib/service/export/export-order.ts';
import { ExportWorld, vectorKey } from '../helpers/export-world.ts';
import { runs } from '../helpers/runs.ts';
import { stageFile } from '../helpers/stage-one.ts';

const MiB = 1024 * 1024;
/** 5 MiB less the header of 124 bytes in part 1, then 499 copies of 64 MiB. */
const bodySize = 5 * MiB - 124 + 499 * 64 * MiB;
const recipient = 'ab'.repeat(32);
const requests = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const;

const message = (requestId: string = requests[0]) => ({
  messageId: '99999999-9999-4999-8999-999999999999',
  sentAt: new Date('2026-11-21T09:00:01.000Z'),
  body: JSON.stringify({
    requestId,
    requestedAt: '2026-11-21T09:00:00.000Z',
    fileId: 'EGAF1',
    datasetId: 'EGAD1',
    recipient,
    publicKey: Buffer.from(vectorKey('bob').publicKey).toString('base64'),
  }),
});

/** A part as S3 has it: where its bytes come from instead of the bytes. */
interface Part {
  readonly etag: string;
  readonly source: string;
  readonly start: number;
  readonly end: number;
}

/** A body of 31 GiB and an outbox that keeps of each part which bytes of which body it has. */
class LargeWorld {
  readonly world = ExportWorld.of(new Uint8Array());
  readonly uploads = new Map<string, Map<number, Part>>();
  visible: { readonly metadata: Readonly<Record<string, string>>; readonly parts: readonly Part[] } | undefined;
  source = '"1"';
  copied = 0;
  /** Copies after which the invocation has no time left. */
  stopAfter = Number.POSITIVE_INFINITY;
  /** Called before each copy. @throws to let it fail */
  beforeCopy = () => {};
  #made = 0;

  constructor() {
    const file = this.world.catalogue.files.get('EGAF1');
    if (file) this.world.catalogue.files.set('EGAF1', { ...file, archiveFileSize: bodySize });
  }

  deliver(redelivered: boolean, requestId?: string) {
    const stopAt = this.copied + this.stopAfter;
    const remainingMs = () => (this.copied >= stopAt ? 19_999 : 900_000);
    return stageFile(message(requestId), this.#dependencies(), { redelivered, remainingMs });
  }

  #dependencies(): StageDependencies {
    const { world } = this;
    const checked = (etag: string) => {
      if (etag !== this.source) throw damaged('the archived body was replaced');
    };
    const archive: StageDependencies['archive'] = {
      head: async () => ({ ...head(bodySize, this.source), lastModified: world.outbox.now, metadata: {} }),
      read: async (_, { start, end, etag }) => {
        checked(etag);
        return Buffer.alloc(end - start);
      },
      readWhole: () => Promise.reject(new Error('not small')),
    };
    const multipart = (uploadId: string, metadata: Readonly<Record<string, string>>): MultipartUpload => {
      const store = (partNumber: number, part: Omit<Part, 'etag'>): UploadedPart => {
        this.#made += 1;
        const etag = `"${this.#made}"`;
        this.#parts(uploadId).set(partNumber, { ...part, etag });
        return { partNumber, etag, crc64nvme: undefined };
      };
      return {
        uploadId,
        uploadPart: async (partNumber, bytes) =>
          store(partNumber, { source: this.source, start: 0, end: bytes.length - 124 }),
        copyPart: async (partNumber, { archiveEtag }, { start, end }) => {
          // Copies end in another order than they began.
          for (let turn = 0; turn < partNumber % 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          this.beforeCopy();
          checked(archiveEtag);
          this.copied += 1;
          return store(partNumber, { source: archiveEtag, start, end });
        },
        complete: async (parts, size, replaces) => {
          const known = this.#parts(uploadId);
          const named = parts.map(({ partNumber, etag }) => {
            const part = known.get(partNumber);
            if (part?.etag !== etag) throw new Error('InvalidPart');
            return part;
          });
          expect(size).toBe(124 + bodySize);
          if (replaces !== (this.visible && '"visible"')) return 'conflict';
          this.visible = { metadata, parts: named };
          this.uploads.delete(uploadId);
          return 'written';
        },
        abort: async () => {
          this.uploads.delete(uploadId);
        },
      };
    };
    const outbox: OutboxWriter = {
      head: async (): Promise<ObjectHead | undefined> =>
        this.visible && {
          ...head(124 + bodySize, '"visible"'),
          lastModified: world.outbox.now,
          metadata: this.visible.metadata,
        },
      put: () => Promise.reject(new Error('not small')),
      startUpload: async (_, metadata) => {
        this.#made += 1;
        const uploadId = `upload ${this.#made}`;
        this.uploads.set(uploadId, new Map());
        return multipart(uploadId, metadata);
      },
      resumeUpload: async (_, metadata, uploadId) =>
        this.uploads.has(uploadId) ? multipart(uploadId, metadata) : undefined,
      abortUploads: async () => 0,
      abortUpload: async (_, uploadId) => {
        this.uploads.delete(uploadId);
      },
    };
    return { ...world.staging, archive, outbox };
  }

  #parts(uploadId: string): Map<number, Part> {
    const parts = this.uploads.get(uploadId);
    if (!parts) throw unavailable('NoSuchUpload');
    return parts;
  }
}

const head = (size: number, etag: string) => ({ size, etag });

function expectWhole({ visible, uploads, world }: LargeWorld, source: string): void {
  expect(visible?.parts).toHaveLength(500);
  let position = 0;
  for (const part of visible?.parts ?? []) {
    if (part.source !== source || part.start !== position) throw new Error(`spliced at byte ${position}`);
    position = part.end;
  }
  expect(position).toBe(bodySize);
  expect(uploads.size).toBe(0);
  expect(world.copies.rows.size).toBe(0);
}

test('a copy of 500 parts that is stopped at random points ends whole, and copies no saved part again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 6 }), async (stops) => {
      const large = new LargeWorld();
      let delivery = 0;
      for (const stop of [...stops, Number.POSITIVE_INFINITY]) {
        large.stopAfter = stop;
        const end: unknown = await large.deliver(delivery > 0).catch((error: unknown) => error);
        delivery += 1;
        if (!(end instanceof Error)) break;
        expect(end).toMatchObject({ retryAfterSeconds: 0 });
        expect(large.visible).toBeUndefined();
      }
      expectWhole(large, '"1"');
      // A clean stop saves all that was copied.
      expect(large.copied).toBe(499);
    }),
    { numRuns: runs(25) },
  );
});

test('a copy that dies at random points copies again only what was not saved', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 498 }), async (at) => {
      const large = new LargeWorld();
      large.beforeCopy = () => {
        if (large.copied === at) throw unavailable('down');
      };
      const { save } = large.world.copies;
      let alive = true;
      // The process dies with the first failure: nothing is saved after it.
      large.world.copies.save = (...args) =>
        alive && large.copied < at ? save.apply(large.world.copies, args) : Promise.reject(new Error('dead'));
      await expect(large.deliver(false)).rejects.toThrow();
      alive = false;
      large.world.copies.save = save;
      large.beforeCopy = () => {};
      const before = large.copied;
      const saved = [...large.world.copies.rows.values()][0]?.parts.size ?? 0;
      await large.deliver(true);
      expectWhole(large, '"1"');
      // Part 1 is not a copy.
      expect(large.copied - before).toBe(saved === 0 ? 499 : 500 - saved);
      // At most a batch of 50 and the 32 in flight are lost.
      expect(before - saved).toBeLessThanOrEqual(82);
    }),
    { numRuns: runs(25) },
  );
});

test('a source that changes between or within deliveries restarts, and is never spliced', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 400 }), fc.boolean(), async (at, within) => {
      const large = new LargeWorld();
      if (within) {
        large.beforeCopy = () => {
          if (large.copied === at) large.source = '"2"';
        };
      } else {
        large.stopAfter = at;
      }
      await expect(large.deliver(false)).rejects.toThrow();
      large.source = '"2"';
      large.stopAfter = Number.POSITIVE_INFINITY;
      await large.deliver(true);
      expectWhole(large, '"2"');
    }),
    { numRuns: runs(20) },
  );
});

test('two exports of one file to one recipient at once, stopped anywhere: the newer one stays, whole', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 1000 }), async (one, two) => {
      const large = new LargeWorld();
      for (const stop of [one, two, Number.POSITIVE_INFINITY]) {
        large.stopAfter = stop;
        await Promise.allSettled(requests.map((id) => large.deliver(stop !== one, id)));
      }
      // The greater id is the newer of two requests of the same instant.
      await Promise.allSettled(requests.map((id) => large.deliver(true, id)));
      expect(large.visible?.metadata[outboxMetadata.requestId]).toBe(requests[1]);
      expectWhole(large, '"1"');
    }),
    { numRuns: runs(15) },
  );
});

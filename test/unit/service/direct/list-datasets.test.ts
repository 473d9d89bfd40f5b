import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DatasetListing, listDatasetFiles, listDatasets } from '../../../../lib/service/direct/list-datasets.ts';
import type { DatasetFile } from '../../../../lib/service/direct/ports.ts';
import { FakeCatalogue } from '../../../helpers/fake-catalogue.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
import { makeTestIssuer, rulesOf, type TestIssuer } from '../../../helpers/issuer.ts';
import { PortCalls } from '../../../helpers/port-calls.ts';

/** A catalogue with the pages of a test. An error in the place of a page is thrown there. */
class ListingCatalogue extends FakeCatalogue {
  pages: readonly (readonly DatasetFile[] | Error)[] = [];
  read = 0;
  ended = false;

  /** The dataset has so many files. */
  count = 0;
  /** What the listing began behind. */
  after: string | undefined;

  async placeInDataset(datasetId: string, fileId: string): Promise<string | undefined> {
    return datasetId === 'EGAD1' && /^EGAF\d$/.test(fileId) ? `place of ${fileId}` : undefined;
  }

  override async hasMoreFiles(_: string, count: number): Promise<boolean> {
    return this.count > count;
  }

  async *filesOfDataset(_: string, after?: string): AsyncGenerator<readonly DatasetFile[]> {
    this.after = after;
    try {
      for (const page of this.pages) {
        this.read += 1;
        if (page instanceof Error) throw page;
        yield page;
      }
    } finally {
      this.ended = true;
    }
  }
}

let issuer: TestIssuer;
let calls: PortCalls;
let catalogue: ListingCatalogue;
let served: DatasetListing[];
beforeAll(async () => {
  issuer = await makeTestIssuer();
});
beforeEach(() => {
  calls = new PortCalls();
  catalogue = new ListingCatalogue(calls);
  catalogue.addDataset('EGAD1', { released: true, aliases: ['doi/1 %41'] });
  catalogue.addDataset('EGAD2', { released: false });
  catalogue.addDataset('EGAD3', { released: true });
  served = [];
});

const rules = () => rulesOf(issuer, () => new Date('2026-11-21T10:00:00Z'));
const bearer = async (dataset = 'EGAD1') => ({ Authorization: `Bearer ${await issuer.visa({ dataset })}` });

async function passport(...datasets: readonly string[]) {
  const visas = await Promise.all(datasets.map((dataset) => issuer.visa({ dataset })));
  return { Authorization: `Bearer ${await issuer.passport(visas)}` };
}

describe('the datasets of a caller', () => {
  const list = async (headers: RequestParts['headers']) =>
    listDatasets(httpRequest({ ...(headers && { headers }) }), { rules: rules(), catalogue });

  test('are those that are granted and released, by their own ids', async () => {
    const reply = await list(await passport('EGAD3', 'EGAD2', 'EGAD404', 'doi/1 %41'));
    expect(reply).toEqual({
      status: 200,
      headers: {
        'Content-Type': 'application/json',
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        'X-Frame-Options': 'DENY',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'X-Request-Id': 'gateway-request',
      },
      body: '["EGAD1","EGAD3"]',
    });
  });
});

describe('the files of a dataset', () => {
  const reply = async (datasetId: string, headers?: RequestParts['headers'], query: RequestParts['query'] = {}) =>
    listDatasetFiles(httpRequest({ headers: headers ?? (await bearer()), pathParameters: { datasetId }, query }), {
      rules: rules(),
      catalogue,
      served: (listing) => served.push(listing),
    });
  const textOf = async (body: AsyncIterable<string>) => {
    let text = '';
    for await (const piece of body) text += piece;
    return text;
  };
  const file = (fileId: string, more: Partial<DatasetFile> = {}): DatasetFile => ({
    fileId,
    submissionFilePath: 'dir/a "b".txt',
    archiveFileSize: 128,
    decryptedFileSize: 100,
    plaintextChecksums: [],
    ...more,
  });

  describe('in pages', () => {
    const idsOf = async (query: RequestParts['query']) =>
      JSON.parse(await textOf((await reply('EGAD1', undefined, query)).body)).map(
        ({ fileId }: { readonly fileId: string }) => fileId,
      );

    test('have the rows that were asked for, and read no further', async () => {
      catalogue.pages = [[file('EGAF1'), file('EGAF2')], [file('EGAF3'), file('EGAF4')], [file('EGAF5')]];
      expect(await idsOf({ per_page: '3' })).toEqual(['EGAF1', 'EGAF2', 'EGAF3']);
      expect([catalogue.read, catalogue.ended, catalogue.after]).toEqual([2, true, undefined]);
    });

    test('begin behind a file of the dataset', async () => {
      catalogue.pages = [[file('EGAF6')]];
      expect(await idsOf({ per_page: '3', after: 'EGAF5' })).toEqual(['EGAF6']);
      expect(catalogue.after).toBe('place of EGAF5');
    });

    test('are needed above 300,000 files: the refusal says how to ask', async () => {
      catalogue.pages = [[file('EGAF1')]];
      catalogue.count = 300_000;
      expect(await idsOf({})).toEqual(['EGAF1']);
      catalogue.count = 300_001;
      expect(await idsOf({ per_page: '1' })).toEqual(['EGAF1']);
      await expect(reply('EGAD1')).rejects.toMatchObject({
        violations: [
          {
            field: 'per_page',
            message:
              'is missing: the dataset has more than 300000 files. Ask for pages of at most 50000, each with the last fileId of the one before as after',
          },
        ],
      });
    });
  });

  test('have every member, null where nothing is known', async () => {
    catalogue.pages = [
      [
        file('EGAF1', {
          plaintextChecksums: [
            { type: 'SHA256', value: 'aa' },
            { type: 'MD5', value: 'bb' },
          ],
        }),
      ],
      [file('EGAF2', { submissionFilePath: 'flat.c4gh', archiveFileSize: undefined, decryptedFileSize: undefined })],
    ];
    const { status, body } = await reply('EGAD1');
    expect(status).toBe(200);
    expect(JSON.parse(await textOf(body))).toEqual([
      {
        fileId: 'EGAF1',
        datasetId: 'EGAD1',
        displayFileName: 'a _b_.txt',
        fileName: 'dir/a "b".txt',
        filePath: 'dir/a "b".txt.c4gh',
        fileSize: 128,
        unencryptedChecksum: 'bb',
        unencryptedChecksumType: 'MD5',
        decryptedFileSize: 100,
        decryptedFileChecksum: 'aa',
        decryptedFileChecksumType: 'SHA256',
        fileStatus: 'READY',
      },
      {
        fileId: 'EGAF2',
        datasetId: 'EGAD1',
        displayFileName: 'flat',
        fileName: 'flat.c4gh',
        filePath: 'flat.c4gh',
        fileSize: null,
        unencryptedChecksum: null,
        unencryptedChecksumType: null,
        decryptedFileSize: null,
        decryptedFileChecksum: null,
        decryptedFileChecksumType: null,
        fileStatus: 'READY',
      },
    ]);
    expect(served).toEqual([{ requestId: 'gateway-request', datasetId: 'EGAD1', rows: 2 }]);
  });

  test.each([
    [[], 0],
    [[[]], 0],
    [[[], [file('EGAF1')], []], 1],
    [[[file('EGAF1'), file('EGAF2')], [file('EGAF3')]], 3],
  ])('are JSON however the pages fall (%#)', async (pages, count) => {
    catalogue.pages = pages;
    expect(JSON.parse(await textOf((await reply('EGAD1')).body))).toHaveLength(count);
  });

  test('are read page by page: the second is asked for when the first has been taken', async () => {
    catalogue.pages = [[file('EGAF1')], [file('EGAF2')], [file('EGAF3')]];
    const body = (await reply('EGAD1')).body[Symbol.asyncIterator]();
    expect(catalogue.read).toBe(1);
    expect((await body.next()).value).toMatch(/^\[.*EGAF1/);
    expect(catalogue.read).toBe(1);
    await body.return?.();
    expect(catalogue.ended).toBe(true);
    expect(served).toMatchObject([{ rows: 1 }]);
  });

  test('a failure on the first page is an error, one on a later page breaks the body off', async () => {
    catalogue.pages = [new RangeError('first')];
    await expect(reply('EGAD1')).rejects.toThrow('first');
    catalogue.pages = [[file('EGAF1')], new RangeError('second')];
    const { body } = await reply('EGAD1');
    await expect(textOf(body)).rejects.toThrow('second');
    expect(served).toMatchObject([{ rows: 1 }]);
  });

  test('are found by an alias, which is decoded once', async () => {
    catalogue.pages = [[file('EGAF1')]];
    const { body } = await reply('doi%2F1%20%2541');
    expect(JSON.parse(await textOf(body))).toMatchObject([{ datasetId: 'EGAD1' }]);
    // A gateway that decodes leaves a percent sign that could be decoded again. Then there is no such dataset.
    await expect(reply('doi/1 %41')).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
  });
});

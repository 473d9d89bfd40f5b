import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listSdaFiles } from '../../../../lib/service/direct/compatibility/sda.ts';
import { type GrantRefusal, grantByPassword } from '../../../../lib/service/direct/compatibility/sign-in.ts';
import type { DatasetFile } from '../../../../lib/service/direct/ports.ts';
import { FakeCatalogue } from '../../../helpers/fake-catalogue.ts';
import { httpRequest } from '../../../helpers/http-request.ts';
import { makeTestIssuer, rulesOf, type TestIssuer } from '../../../helpers/issuer.ts';
import { PortCalls } from '../../../helpers/port-calls.ts';

let issuer: TestIssuer;
let visa: string;
beforeAll(async () => {
  issuer = await makeTestIssuer();
  visa = await issuer.visa({ dataset: 'EGAD1' });
});
const rules = () => rulesOf(issuer, () => new Date('2026-11-21T10:00:00Z'));

describe('a page of files for sda-cli', () => {
  const files = Array.from({ length: 2500 }, (_, index): DatasetFile => {
    const submissionFilePath = `${index % 2 === 0 ? 'even' : 'odd'}/${index}.bam`;
    const sizes = { archiveFileSize: undefined, decryptedFileSize: undefined };
    return { fileId: `EGAF${index}`, submissionFilePath, ...sizes, plaintextChecksums: [] };
  });
  class SdaCatalogue extends FakeCatalogue {
    async placeInDataset(_: string, fileId: string): Promise<string | undefined> {
      return files.some((file) => file.fileId === fileId) ? fileId : undefined;
    }
    async *filesOfDataset(_: string, after?: string, prefix = ''): AsyncGenerator<readonly DatasetFile[]> {
      const rest = files.slice(files.findIndex(({ fileId }) => fileId === after) + 1);
      const wanted = rest.filter(({ submissionFilePath }) => submissionFilePath.startsWith(prefix));
      for (let start = 0; start < wanted.length; start += 700) yield wanted.slice(start, start + 700);
    }
    async filesAt(_: string, path: string): Promise<readonly DatasetFile[]> {
      return files.filter(({ submissionFilePath }) => `${submissionFilePath}.c4gh` === path);
    }
    async totalsOf(): Promise<never> {
      throw new Error('nobody asks');
    }
  }
  const list = async (query: Readonly<Record<string, string>>) => {
    const catalogue = new SdaCatalogue(new PortCalls());
    catalogue.addDataset('EGAD1', { released: true });
    const headers = { Authorization: `Bearer ${visa}` };
    const request = httpRequest({ headers, query, pathParameters: { datasetId: 'EGAD1' } });
    const endpoint = { rules: rules(), catalogue, served: () => {} };
    const { body } = await listSdaFiles(request, endpoint, 'https://host/v1');
    const { files: shown, nextPageToken } = JSON.parse(String(body));
    const ids: string[] = shown.map(({ fileId }: { fileId: string }) => fileId.slice(4));
    return [ids.length, ids[0], ids.at(-1), nextPageToken];
  };

  test('has 1,000 files, and the token of the next one', async () => {
    expect(await list({})).toEqual([1000, '0', '999', 'EGAF999']);
    expect(await list({ pageToken: 'EGAF999' })).toEqual([1000, '1000', '1999', 'EGAF1999']);
    expect(await list({ pageToken: 'EGAF1999' })).toEqual([500, '2000', '2499', null]);
  });

  test('has only those below a prefix, or at a path', async () => {
    expect(await list({ pathPrefix: 'odd/' })).toEqual([1000, '1', '1999', 'EGAF1999']);
    expect(await list({ pathPrefix: 'odd/', pageToken: 'EGAF1999' })).toEqual([250, '2001', '2499', null]);
    expect(await list({ filePath: 'even/4.bam.c4gh' })).toEqual([1, '4', '4', null]);
    for (const name of ['filePath', 'pathPrefix']) {
      expect(await list({ [name]: 'even/4\0' })).toEqual([0, undefined, undefined, null]);
    }
  });
});

describe('a password grant', () => {
  const form = 'application/x-www-form-urlencoded';
  let refusals: GrantRefusal[];
  beforeEach(() => {
    refusals = [];
  });
  const grant = async (body: string, type = form) => {
    const request = httpRequest({ method: 'POST', headers: { 'Content-Type': type }, body });
    const { status, body: reply } = await grantByPassword(request, {
      rules: rules(),
      refused: (refusal) => refusals.push(refusal),
    });
    const { error, access_token } = JSON.parse(String(reply));
    return status === 200 ? access_token : error;
  };

  test('gives the visa that is the password', async () => {
    expect(await grant(`grant_type=password&username=x&password=${visa}`, `${form}; charset=utf-8`)).toBe(visa);
    expect(refusals).toEqual([]);
  });

  test.each([
    ['invalid_grant', 'grant_type=password&password=a.b.c', form],
    ['invalid_grant', `grant_type=password&password=${'x'.repeat(9217)}`, form],
    ['unsupported_grant_type', 'grant_type=implicit&password=x', form],
    ['invalid_request', 'grant_type=password', form],
    ['invalid_request', 'password=x', form],
    ['invalid_request', 'grant_type=password&password=x&password=y', form],
    ['invalid_request', `grant_type=password&password=${'x'.repeat(65_537)}`, form],
    ['invalid_request', 'grant_type=password&password=x', 'application/json'],
  ])('is refused as %s: %.40s', async (error, body, type) => {
    expect(await grant(body, type)).toBe(error);
    expect(refusals).toEqual([
      { requestId: 'gateway-request', status: 400, code: error, detail: expect.stringMatching(/[a-z]{3}/) },
    ]);
    expect(refusals[0]?.detail).not.toContain('xxx');
  });
});

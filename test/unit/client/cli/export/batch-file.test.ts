import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBatch } from '../../../../../lib/client/cli/export/batch-file.ts';

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-batch-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(text: string) {
  const path = join(folder, `${++count}.csv`);
  await writeFile(path, text);
  return await readBatch(path);
}

const row = { id: 'EGAD1', type: 'datasetId', visa: 'a.jwt', publicKey: 'a.pub' };

describe('a batch', () => {
  test('has a row for each line, with its number', async () => {
    const text = 'id,type,visa,public_key\nEGAD1,datasetId,a.jwt,a.pub\n\nEGAF1,fileId,keys/b.jwt,b.pub\n';
    expect(await read(text)).toEqual([
      { line: 2, ...row },
      { line: 4, id: 'EGAF1', type: 'fileId', visa: 'keys/b.jwt', publicKey: 'b.pub' },
    ]);
  });

  test.each([
    ['lines of Windows, byte order mark', '\ufeffid,type,visa,public_key\r\nEGAD1,,a.jwt,a.pub\r\n'],
    ['semicolons, as spreadsheets write them', 'id;visa;public_key\nEGAD1;a.jwt;a.pub'],
    ['quotes, spaces, capitals', 'ID, Visa ,Public_Key\n"EGAD1", "a.jwt" , a.pub\n'],
    ['columns in another order, a comment', 'public_key,visa,comment,id\na.pub,a.jwt,for Jane,EGAD1\n'],
    ['the type as a word', 'id,type,visa,public_key\nEGAD1,dataset,a.jwt,a.pub\n'],
    ['the type as the service also takes it', 'id,type,visa,public_key\nEGAD1,DATASET_ID,a.jwt,a.pub\n'],
  ])('may have %s', async (_what, text) => {
    expect(await read(text)).toEqual([{ line: 2, ...row }]);
  });

  test('without a type goes by the form of the id, else by the type', async () => {
    const text = 'EGAF1,,a,b\negaf2,,a,b\nEGAD3,,a,b\nEGAD4,file,a,b\n';
    const types = (await read(`id,type,visa,public_key\n${text}`)).map(({ type }) => type);
    expect(types).toEqual(['fileId', 'fileId', 'datasetId', 'fileId']);
  });
});

describe('a row has its own fault', () => {
  const header = 'id,type,visa,public_key\n';
  test.each([
    ['with an empty value', 'EGAD1,,,a.pub\n', 'visa is empty'],
    ['with another type', 'E,folder,a,b\n', 'type is neither dataset nor file'],
    ['with the id of a file as a dataset', 'EGAF1,dataset,a,b\n', 'EGAF1 is the id of a file, not of a dataset'],
    ['with the name of a built-in as its type', 'E,constructor,a,b\n', 'type is neither dataset nor file'],
    ['that is too short', 'EGAD1,datasetId,a.jwt\n', 'another number of values'],
    ['that is too long', 'EGAD1,datasetId,a,eyJhbGciOi.secret,c\n', 'another number of values'],
  ])('%s', async (_what, text, message) => {
    const [bad, good] = await read(`${header}${text}EGAD1,,a.jwt,a.pub\n`);
    expect(bad?.fault).toMatchObject({ code: 'usage', message: expect.stringContaining(message) });
    expect(bad?.fault?.message).not.toContain('secret');
    expect(good).toEqual({ line: 3, ...row });
  });
});

describe('a batch is refused', () => {
  test.each([
    ['without a column', 'id,visa\nEGAD1,a.jwt\n', 'has no column public_key'],
    ['with an unknown column', 'id,tpye,visa,public_key\n', 'has an unknown column tpye'],
    ['with a column twice', 'id,id,visa,public_key\n', 'has the column id twice'],
    ['without rows', 'id,visa,public_key\n', 'has no rows'],
    ['with a quote that does not end', 'id,visa,public_key\n"EGAD1,a.jwt,a.pub\n', 'quotes are not in pairs'],
  ])('%s', async (_what, text, message) => {
    await expect(read(text)).rejects.toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringContaining(message) }),
    );
  });
});

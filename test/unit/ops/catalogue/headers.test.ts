import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../../lib/contract/limits.ts';
import { RdsArchiveHeaders, type StoredHeader } from '../../../../lib/ops/catalogue/headers.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

let test: TestDatabase;
let headers: RdsArchiveHeaders;
beforeAll(async () => {
  test = await TestDatabase.shared();
  headers = new RdsArchiveHeaders(test.dataApi());
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.sql('truncate sda.files, sda.encryption_keys cascade');
});

/** @param hex of the header */
async function enter(name: string | null, hex: string, keyHash: string | null): Promise<void> {
  const key = keyHash === null ? 'null' : `'${keyHash}'`;
  if (keyHash !== null) await test.sql(`insert into sda.encryption_keys values (${key}) on conflict do nothing`);
  const id = name === null ? 'null' : `'${name}'`;
  await test.sql(`insert into sda.files (stable_id, header, key_hash) values (${id}, '${hex}', ${key})`);
}

async function stored(except?: readonly string[]) {
  const found: StoredHeader[] = [];
  for await (const one of headers.stored(except)) {
    if ('damage' in one) throw one.damage;
    found.push(one);
  }
  return found.sort((a, b) => (a.fileId < b.fileId ? -1 : 1));
}

describe('keyUses', () => {
  it('counts files by the hash of their key; those without a header are left out', async () => {
    await enter('EGAF1', '01', 'Cafe');
    await enter(null, '02', 'cafe');
    await enter('EGAF3', '03', null);
    await enter('EGAF4', '', 'cafe');
    expect(await headers.keyUses()).toEqual([
      { keyHash: undefined, files: 1 },
      { keyHash: 'cafe', files: 2 },
    ]);
  });
});

describe('stored', () => {
  it('gives whole headers of named and unnamed files, but not those of other keys', async () => {
    const long = 'AB'.repeat(100_000);
    await enter('EGAF1', long, 'cafe');
    await enter(null, '02', null);
    await enter('EGAF3', '03', 'BEEF');
    const found = await stored(['beef']);
    expect(found.map(({ header }) => Buffer.from(header).toString('hex')).sort()).toEqual(['02', long.toLowerCase()]);
    expect(found.map(({ fileId, rowId }) => fileId === rowId).sort()).toEqual([false, true]);
  });

  it('reads more files than a result has room for', async () => {
    await test.sql(
      `insert into sda.files (stable_id, header) select 'EGAF' || n, repeat('ab', 500) from generate_series(1, 2300) n`,
    );
    expect(await stored()).toHaveLength(2300);
  });

  it.each([['xyz'], ['ab'.repeat(limits.headerBytes + 1)]])(
    'names a header that is none, and continues: %#',
    async (hex) => {
      await enter('EGAF1', hex, null);
      await enter('EGAF2', '02', null);
      const found = [];
      for await (const one of headers.stored())
        found.push('damage' in one ? `${one.fileId}: ${one.damage.code}` : one.fileId);
      expect(found.sort()).toEqual(['EGAF1: archive_damaged', 'EGAF2']);
    },
  );
});

describe('replace', () => {
  it('writes header and key hash, once or twice, and makes the key known', async () => {
    await enter('EGAF1', '01', 'cafe');
    const [one] = await stored();
    for (const _attempt of [1, 2]) expect(await headers.replace(one!, Uint8Array.of(0xee), 'beef')).toBe(true);
    expect(await test.sql('select header, key_hash from sda.files')).toEqual([['ee', 'beef']]);
  });

  it('leaves a header that changed since alone', async () => {
    await enter('EGAF1', '01', 'cafe');
    const [one] = await stored();
    await test.sql("update sda.files set header = '02'");
    expect(await headers.replace(one!, Uint8Array.of(0xee), 'beef')).toBe(false);
    expect(await test.sql('select header, key_hash from sda.files')).toEqual([['02', 'cafe']]);
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { expectIntact } from '../../../bin/build/node-package.ts';
import { withoutSignature } from '../../../bin/build/pe.ts';
import { sbomOf } from '../../../bin/build/sbom.ts';

const folder = await mkdtemp(join(tmpdir(), 'data-out-build-'));
afterAll(() => rm(folder, { recursive: true }));

describe('the tarball of Node.js', () => {
  const tarball = join(folder, 'node.tgz');
  // From FIPS 180-4: the SHA-512 of "abc".
  const digest =
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f';
  const integrity = `sha512-${Buffer.from(digest, 'hex').toString('base64')}`;

  test('is taken if it is that of the lock file', async () => {
    await writeFile(tarball, 'abc');
    await expectIntact(tarball, integrity);
  });

  test('is refused if it is another one', async () => {
    await writeFile(tarball, 'abd');
    await expect(expectIntact(tarball, integrity)).rejects.toThrow(
      `${tarball} is not the package of package-lock.json`,
    );
  });
});

describe('the signature of a Windows program', () => {
  /** Headers and 100 bytes, of which the last 40 are the signature. */
  function program(signature: readonly [start: number, size: number], magic = 0x20b): Buffer {
    const file = Buffer.alloc(500, 1);
    file.writeUInt32LE(64, 0x3c);
    file.writeUInt16LE(magic, 64 + 24);
    file.writeUInt32LE(signature[0], 64 + 24 + 144);
    file.writeUInt32LE(signature[1], 64 + 24 + 148);
    return file;
  }

  test('is cut off, and nothing names it any more', () => {
    const unsigned = withoutSignature(program([460, 40]));
    expect(unsigned.length).toBe(460);
    expect(unsigned.subarray(232, 240)).toEqual(Buffer.alloc(8));
    expect(unsigned.subarray(152, 156)).toEqual(Buffer.alloc(4));
    expect(unsigned.subarray(240)).toEqual(Buffer.alloc(220, 1));
  });

  test('elsewhere than at the end, or in a program of 32 bits, is an error', () => {
    expect(() => withoutSignature(program([400, 40]))).toThrow('at the end');
    expect(() => withoutSignature(program([460, 40], 0x10b))).toThrow('64-bit');
  });
});

test('the list of parts names a package, its scope and its licence, and the libraries of Node.js', () => {
  const packages = [{ name: '@scope/name', version: '1.2.3', license: 'MIT', text: undefined }];
  const versions = { ...process.versions, node: '24.1.0', openssl: '3.5.0', nghttp3: '' };
  const { components } = sbomOf(packages, versions) as { components: readonly Record<string, unknown>[] };
  expect(components[0]).toEqual({
    type: 'library',
    name: '@scope/name',
    version: '1.2.3',
    purl: 'pkg:npm/%40scope/name@1.2.3',
    licenses: [{ expression: 'MIT' }],
  });
  expect(components[1]).toMatchObject({ name: 'node', cpe: 'cpe:2.3:a:nodejs:node.js:24.1.0:*:*:*:*:*:*:*' });
  const libraries = components[1]?.components;
  expect(libraries).toContainEqual({ type: 'library', name: 'openssl', version: '3.5.0' });
  expect(libraries).not.toContainEqual(expect.objectContaining({ name: 'nghttp3' }));
  expect(libraries).not.toContainEqual(expect.objectContaining({ name: 'modules' }));
});

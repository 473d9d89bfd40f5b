import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decrypt, formatPrivateKey, formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { crypt4ghErrorCodes } from '../helpers/crypt4gh-error-codes.ts';
import { collect, generatedPlaintext } from '../helpers/crypt4gh-vectors.ts';

const page = readFileSync(new URL('../../docs/crypt4gh.md', import.meta.url), 'utf8');
const library = new URL('../../lib/crypt4gh/index.ts', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'crypt4gh-recipes-'));
const plaintext = generatedPlaintext('recipes', 4 * 65_536 + 1_234);
const [colleague, newReader] = [generateKeyPair(), generateKeyPair()];

beforeAll(async () => {
  writeFileSync(join(folder, 'colleague.sec'), await formatPrivateKey(colleague.privateKey));
  writeFileSync(join(folder, 'sample.bam'), plaintext);
  writeFileSync(join(folder, 'colleague.pub'), formatPublicKey(colleague.publicKey));
  writeFileSync(join(folder, 'new.pub'), formatPublicKey(newReader.publicKey));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** The recipes of the page in order: title of their part, code. */
const recipes = page.split(/^### /m).flatMap((part) => {
  const title = part.split('\n', 1)[0]!;
  return [...part.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => [title, code!] as const);
});

async function run(code: string): Promise<string> {
  const path = join(folder, 'recipe.ts');
  writeFileSync(path, code.replaceAll("'data-out/crypt4gh'", `'${library}'`));
  const { stdout } = await promisify(execFile)(process.execPath, [path], { cwd: folder });
  return stdout;
}

function file(name: string): Buffer {
  return readFileSync(join(folder, name));
}

function read(bytes: Uint8Array) {
  return collect(decrypt([bytes], { privateKeys: [newReader.privateKey] }));
}

/** What each recipe must have printed or left behind, in the order of the page. */
const outcomes: readonly [string, (output: string) => void | Promise<void>][] = [
  ['Make and read keys', (output) => expect(output).toBe('true\n')],
  [
    'Encrypt a file for two readers',
    async () => {
      const privateKeys = [colleague.privateKey];
      expect((await collect(decrypt([file('sample.bam.c4gh')], { privateKeys }))).equals(plaintext)).toBe(true);
    },
  ],
  ['Decrypt a file, and know that it is whole', () => expect(file('decrypted.bam').equals(plaintext)).toBe(true)],
  ['Decrypt a stream', (output) => expect(output).toBe(`${plaintext.length}\n`)],
  ['Know who wrote a file', (output) => expect(output).toBe('by me\n')],
  ['Read some bytes of a large file', (output) => expect(output).toBe(`${plaintext.length} 100 69850\n`)],
  [
    'Give others access',
    async () => {
      expect((await read(file('shared.c4gh'))).equals(plaintext)).toBe(true);
      expect(await read(file('replaced.c4gh'))).toEqual(plaintext.subarray(1_000, 2_000));
    },
  ],
];

describe('the recipes of docs/crypt4gh.md do what they say', () => {
  test('and this suite knows them all', () => {
    expect(recipes.map(([title]) => title)).toEqual(outcomes.map(([title]) => title));
  });

  test.each(recipes.map(([title, code], index) => [index + 1, title, code] as const))(
    '%d: %s',
    async (number, _, code) => {
      await outcomes[number - 1]![1](await run(code));
    },
  );
});

test('the error table has every code once, under its class', () => {
  const rows = [...page.matchAll(/^\| `(\w+Error)` \| .+ \| (.+) \|$/gm)];
  const listed = rows.flatMap(([, name, codes = '']) =>
    codes.split(', ').map((code) => [code.slice(1, -1), name] as const),
  );
  expect(Object.fromEntries(listed)).toEqual(crypt4ghErrorCodes);
  expect(listed).toHaveLength(Object.keys(crypt4ghErrorCodes).length);
});

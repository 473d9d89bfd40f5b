import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  encryptHeader,
  formatPrivateKey,
  generateKeyPair,
  type KeyPair,
  openHeader,
  parsePrivateKey,
  publicKeyFingerprint,
} from '../../../lib/crypt4gh/index.ts';
import { inputOf, makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-keys-'));
  await writeFile(join(folder, 'passphrase'), 'open sesame\n');
});
afterAll(() => rm(folder, { recursive: true }));

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
});
const run = (argv: string[], choices = {}) => runTool(['archive-key', ...argv], world.target, { folder, ...choices });

const dataKey = Buffer.alloc(32, 7);
const hexOf = (key: Uint8Array) => Buffer.from(key).toString('hex');

/** A file whose header is for `key`, with an edit list. */
function archive(fileId: string, key: KeyPair, keyHash = hexOf(key.publicKey)): void {
  const header = encryptHeader({ dataKeys: [dataKey], editList: [3n, 5n], recipients: [key.publicKey] });
  world.files.set(fileId, {
    ...{ fileId, datasetId: 'EGAD1', submissionFilePath: 'a', archiveFilePath: fileId, archiveLocation: '' },
    ...{ archiveFileSize: 1, decryptedFileSize: 1, header, keyHash, checksums: [] },
  });
}

async function addKey(): Promise<KeyPair> {
  const key = generateKeyPair();
  await writeFile(join(folder, 'new.sec'), await formatPrivateKey(key.privateKey));
  expect((await run(['add', 'new.sec'])).exitCode).toBe(0);
  return key;
}

describe('reencrypt', () => {
  test('brings every header to the newest key, with its data key and edit list', async () => {
    archive('EGAF1', world.archiveKey);
    archive('EGAF2', world.archiveKey, '');
    const key = await addKey();
    archive('EGAF3', key);
    const untouched = world.files.get('EGAF3')?.header;
    const { exitCode, stdout } = await run(['reencrypt']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '2 files re-encrypted; all are for the newest key\n' });
    for (const fileId of ['EGAF1', 'EGAF2']) {
      const file = world.files.get(fileId)!;
      expect(file.keyHash).toBe(hexOf(key.publicKey));
      const { dataKeys, editList } = openHeader(file.header, [key.privateKey]);
      expect(dataKeys.map(hexOf)).toEqual([dataKey.toString('hex')]);
      expect(editList).toEqual([3n, 5n]);
      expect(() => openHeader(file.header, [world.archiveKey.privateKey])).toThrow();
    }
    expect(world.files.get('EGAF3')?.header).toBe(untouched);
  });

  test('continues past a header that no key opens, names it, and fails', async () => {
    archive('EGAF1', generateKeyPair());
    archive('EGAF2', world.archiveKey);
    const key = await addKey();
    const { exitCode, stderr } = await run(['reencrypt']);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('none of 2 archive keys opens the header');
    expect(stderr).toContain('1 of 2 headers are not for the newest key');
    expect(world.files.get('EGAF2')?.keyHash).toBe(hexOf(key.publicKey));
  });

  test('leaves a header that changed meanwhile alone, and the next run takes it', async () => {
    archive('EGAF1', world.archiveKey);
    const key = await addKey();
    const { replace } = world.target.archiveHeaders;
    let isFirst = true;
    const racing = {
      ...world.target.archiveHeaders,
      replace: (...call: Parameters<typeof replace>) => {
        if (isFirst) archive('EGAF1', world.archiveKey);
        isFirst = false;
        return replace(...call);
      },
    };
    const again = () => runTool(['archive-key', 'reencrypt'], { ...world.target, archiveHeaders: racing }, { folder });
    expect((await again()).exitCode).toBe(5);
    expect((await again()).exitCode).toBe(0);
    expect(world.files.get('EGAF1')?.keyHash).toBe(hexOf(key.publicKey));
  });
});

describe('remove', () => {
  const keys = () => (world.secrets.archiveKeys as { keys: unknown[] }).keys.length;

  test('takes an older key out when no file needs it', async () => {
    const old = publicKeyFingerprint(world.archiveKey.publicKey);
    archive('EGAF1', world.archiveKey);
    await addKey();
    const refused = await run(['remove', old, '--yes']);
    expect(refused).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('1 file might need this key') });
    expect(keys()).toBe(2);
    await run(['reencrypt']);
    expect((await run(['remove', old, '--yes'])).exitCode).toBe(0);
    expect(keys()).toBe(1);
  });

  test('refuses while the catalogue does not say for which key a header is', async () => {
    await addKey();
    archive('EGAF1', world.archiveKey, '');
    expect((await run(['remove', publicKeyFingerprint(world.archiveKey.publicKey), '--yes'])).exitCode).toBe(9);
  });

  test('refuses the newest key, an unknown one, and without an answer', async () => {
    const old = publicKeyFingerprint(world.archiveKey.publicKey);
    expect(await run(['remove', old, '--yes'])).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining('add another one first'),
    });
    expect((await run(['remove', 'ab'.repeat(32), '--yes'])).exitCode).toBe(4);
    await addKey();
    expect((await run(['remove', old])).exitCode).toBe(2);
    expect((await run(['remove', old], { askShown: async () => 'no' })).exitCode).toBe(2);
    expect(keys()).toBe(2);
    expect((await run(['remove', old], { askShown: async () => old.slice(0, 8) })).exitCode).toBe(0);
  });
});

test('of two keys that are added at the same moment one is refused, and none is lost', async () => {
  const add = () => {
    const target = { ...world.target, archiveKeys: world.secret('archiveKeys') };
    return runTool(['archive-key', 'add', '--generate', '--json'], target, { folder });
  };
  const runs = await Promise.all([add(), add()]);
  expect(runs.map(({ exitCode }) => exitCode).sort()).toEqual([0, 9]);
  const refused = runs.find(({ exitCode }) => exitCode === 9);
  expect(refused?.stderr).toContain('another process changed the secret meanwhile; nothing was written');
  const added = JSON.parse(runs.find(({ exitCode }) => exitCode === 0)!.stdout) as { fingerprint: string };
  expect((await run(['show', '--json'])).stdout).toContain(added.fingerprint);
  expect((await run(['show', '--json'])).stdout.trim().split('\n')).toHaveLength(2);
});

describe('save and check', () => {
  test('a copy opens with its passphrase alone, and opens the archive without the secret', async () => {
    archive('EGAF1', world.archiveKey);
    const { exitCode, stdout, stderr } = await run(['save', 'copy.sec', '--passphrase-file', 'passphrase']);
    expect(exitCode).toBe(0);
    expect(stdout + stderr).not.toContain('PRIVATE KEY');
    const path = join(folder, 'copy.sec');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const text = await readFile(path);
    await expect(parsePrivateKey(text)).rejects.toThrow();
    expect(await parsePrivateKey(text, 'open sesame')).toEqual(world.archiveKey.privateKey);
    world.secrets.archiveKeys = { keys: [] };
    const checked = await run(['check', 'copy.sec', '--passphrase-file', 'passphrase']);
    expect(checked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('opens 1 of 1 file\n') });
    expect((await run(['save', 'copy.sec'], { input: inputOf('other') })).exitCode).toBe(4);
  });

  test('a file is never replaced, and an empty passphrase is refused', async () => {
    await writeFile(join(folder, 'there'), 'kept');
    expect((await run(['save', 'there', '--passphrase-file', 'passphrase'])).exitCode).toBe(9);
    expect(await readFile(join(folder, 'there'), 'utf8')).toBe('kept');
    expect((await run(['save', 'empty'], { input: inputOf('\n') })).exitCode).toBe(2);
  });
});

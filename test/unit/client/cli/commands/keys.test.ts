import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  formatPrivateKey,
  formatPublicKey,
  generateKeyPair,
  parsePrivateKey,
  publicKeyOf,
} from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';

let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'data-out-keys-'));
});
beforeEach(async () => {
  folder = await mkdtemp(join(root, 'test '));
});
afterAll(() => rm(root, { recursive: true }));

/** A person who gives these answers in turn. */
function person(...answers: string[]) {
  const questions: string[] = [];
  const askAside = async (question: string) => {
    questions.push(question);
    const answer = answers[questions.length - 1];
    if (answer === undefined) throw new Error(`the test expects no question ${question}`);
    return answer;
  };
  return { askAside, questions };
}

const read = (name: string) => readFile(join(folder, name), 'utf8');

describe('keys generate', () => {
  test('asks for a passphrase twice, and protects the private key by it', async () => {
    const { askAside, questions } = person('correct horse', 'correct horse');
    const { exitCode, stdout, stderr } = await runCli(['keys', 'generate', 'min nøkkel'], { folder, askAside });
    expect(exitCode).toBe(0);
    expect(questions).toHaveLength(2);
    const secret = await read('min nøkkel.sec.pem');
    await expect(parsePrivateKey(secret)).rejects.toMatchObject({ code: 'passphrase-required' });
    const privateKey = await parsePrivateKey(secret, 'correct horse');
    expect(await read('min nøkkel.pub.pem')).toBe(formatPublicKey(publicKeyOf(privateKey)));
    expect(`${stdout}${stderr}`).not.toContain('horse');
  });

  test('makes the private key readable by its owner alone', async () => {
    await runCli(['keys', 'generate', 'me', '--no-passphrase'], { folder });
    expect((await stat(join(folder, 'me.sec.pem'))).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['two different passphrases', ['one', 'two']],
    ['an empty passphrase', ['']],
  ])('%s: nothing is written', async (_what, answers) => {
    const { exitCode } = await runCli(['keys', 'generate', 'me'], { folder, askAside: person(...answers).askAside });
    expect(exitCode).toBe(2);
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(['me.sec.pem', 'me.pub.pem'])('replaces no %s, and asks for nothing then', async (name) => {
    await writeFile(join(folder, name), 'mine');
    const { exitCode, stderr } = await runCli(['keys', 'generate', 'me'], { folder, askAside: person().askAside });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('--force') });
    expect(await readdir(folder)).toEqual([name]);
    expect(await read(name)).toBe('mine');
  });

  test('takes the passphrase from a file or from the environment', async () => {
    await writeFile(join(folder, 'passphrase'), 'from a file\n');
    await runCli(['keys', 'generate', 'a', '--passphrase-file', 'passphrase'], { folder });
    await runCli(['keys', 'generate', 'b'], { folder, env: { DATA_OUT_PASSPHRASE: 'from the environment' } });
    await expect(parsePrivateKey(await read('a.sec.pem'), 'from a file')).resolves.toHaveLength(32);
    await expect(parsePrivateKey(await read('b.sec.pem'), 'from the environment')).resolves.toHaveLength(32);
  });
});

test('a private key that Git can commit is warned of', async () => {
  await mkdir(join(folder, '.git'));
  const warning = `warning: Git can commit the secret ${join(folder, 'me.sec.pem')}: name it in .gitignore, or move it\n`;
  const made = await runCli(['keys', 'generate', 'me', '--no-passphrase'], { folder });
  expect(made).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(warning) });
  const changed = await runCli(['keys', 'passwd', 'me.sec.pem', '--no-passphrase'], { folder });
  expect(changed).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(warning) });
});

describe('keys passwd', () => {
  test('asks for the old passphrase and twice for the new one; key and comment stay the same', async () => {
    const { privateKey } = generateKeyPair();
    const made = await formatPrivateKey(privateKey, { passphrase: 'old', comment: 'for the cohort of 2026' });
    await writeFile(join(folder, 'me.sec.pem'), made, { mode: 0o600 });
    const before = await parsePrivateKey(await read('me.sec.pem'), 'old');
    const { askAside, questions } = person('wrong', 'old', 'new', 'new');
    const { exitCode, stderr } = await runCli(['keys', 'passwd', 'me.sec.pem'], { folder, askAside });
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`warning: ${join(folder, 'me.sec.pem')}: the passphrase is wrong; try again\n`);
    const old = `Passphrase of ${join(folder, 'me.sec.pem')}: `;
    const asked = 'New passphrase of me.sec.pem';
    expect(questions).toEqual([old, old, `${asked}: `, `${asked}, again: `]);
    expect(await parsePrivateKey(await read('me.sec.pem'), 'new')).toEqual(before);
    // The file as a whole ends with the comment, its length before it.
    const bytes = Buffer.from((await read('me.sec.pem')).replaceAll(/-----.*-----|\s/g, ''), 'base64');
    expect(bytes.subarray(-24).toString('latin1')).toBe('\0\x16for the cohort of 2026');
    expect((await stat(join(folder, 'me.sec.pem'))).mode & 0o777).toBe(0o600);
  });

  test('a passphrase that stays wrong changes nothing, and is denied', async () => {
    await runCli(['keys', 'generate', 'me'], { folder, askAside: person('old', 'old').askAside });
    const before = await read('me.sec.pem');
    const { exitCode, stderr } = await runCli(['keys', 'passwd', 'me.sec.pem'], {
      folder,
      askAside: person('a', 'b', 'c').askAside,
    });
    expect(exitCode).toBe(3);
    expect(stderr).toContain(
      'me.sec.pem: the passphrase is wrong\nTry again, and check Caps Lock. A forgotten passphrase cannot be recovered',
    );
    expect(await read('me.sec.pem')).toBe(before);
    expect(await readdir(folder)).toEqual(['me.pub.pem', 'me.sec.pem']);
  });
});

describe('a private key that others can read', () => {
  test.each([0o640, 0o604])('is used with a warning: %i', async (mode) => {
    await runCli(['keys', 'generate', 'me', '--no-passphrase'], { folder });
    await chmod(join(folder, 'me.sec.pem'), mode);
    const { exitCode, stderr } = await runCli(['keys', 'show', 'me.sec.pem', '--quiet'], { folder });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('chmod 600') });
  });
});

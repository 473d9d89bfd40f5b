import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkedVisa } from '../../../../lib/client/cli/secrets.ts';
import { decodedText } from '../../../../lib/common/text.ts';
import { SetUpWorld, visas } from '../../../helpers/set-up-world.ts';

let world: SetUpWorld;
beforeAll(async () => {
  world = await SetUpWorld.start();
});
afterAll(() => world.stop());

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const { good } = visas;
const wrapped = good.replaceAll(/.{40}/g, '$&\r\n');

describe('a visa is read from', () => {
  test.each([
    ['UTF-8 with a mark', Buffer.from(`\ufeff${good}\r\n`)],
    ['UTF-16 of PowerShell', utf16(`${good}\r\n`)],
    ['UTF-16, the other way round', utf16(good).swap16()],
    ['wrapped lines', Buffer.from(wrapped)],
    ['quotes', Buffer.from(`"${good}"\n`)],
    ['a header', Buffer.from(`Bearer ${good}`)],
    ['what userinfo and REMS give', Buffer.from(JSON.stringify({ sub: 'jane', ga4gh_passport_v1: [good] }))],
    ['the same in UTF-16', utf16(JSON.stringify({ ga4gh_passport_v1: [good] }))],
  ])('%s', async (_what, bytes) => {
    expect(await checkedVisa('--visa', decodedText(bytes))).toBe(good);
  });

  test.each([
    ['a web page', '<!DOCTYPE html><title>Sign in</title>', 'got a web page'],
    ['a document', 'PK\x03\x04word/document.xml', 'got a Word or ZIP file'],
    ['a PDF file', '%PDF-1.7', 'got a PDF file'],
    ['half a visa', good.slice(0, 30), 'expected one visa or passport'],
    ['a passport of nothing', '{"ga4gh_passport_v1":[]}', 'none of its 0 visas grants a dataset'],
  ])('but not %s, which is named', async (_what, text, message) => {
    await expect(checkedVisa('--visa', text)).rejects.toThrow(message);
  });
});

test('settings and keys may be in UTF-16', async () => {
  await world.script(['keys', 'generate', 'me', '--no-passphrase']);
  const key = await readFile(world.at('me.pub.pem'), 'utf8');
  await writeFile(world.at('wide.pub.pem'), utf16(key));
  expect((await world.script(['keys', 'show', 'wide.pub.pem'])).stdout.toString()).toBe(key);
  await writeFile(world.at('wide.toml'), utf16(`url = "${world.url}"\nvisa_file = "visa.jwt"\r\n`));
  const run = await world.script(['--config', 'wide.toml', 'doctor']);
  expect(run.stdout.toString()).toContain(`${world.url} answers`);
});

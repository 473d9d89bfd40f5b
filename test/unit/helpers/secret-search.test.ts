import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { findSecrets } from '../../helpers/secret-search.ts';

/** The end-to-end search for secrets is worth as much as this search finds. */

const key = Buffer.from('fbeff800ff0a2d7c5b9e0166d3a4c87f10327e42a5b6c1d9e8f7061524334251', 'hex');
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const lines = (text: string, length: number) => text.match(new RegExp(`.{1,${length}}`, 'g'))?.join('\n') ?? '';

function found(value: string | Uint8Array, text: string): boolean {
  return findSecrets([{ name: 's', value }], [{ source: 'here', text }]).length > 0;
}

test.each<[string, string]>([
  ['as bytes', `"${key.toString('latin1')}"`],
  ['as bytes that were read as text', `"${key.toString('utf8')}"`],
  ['in hex', `key=${key.toString('hex')};`],
  ['in upper-case hex', `key=${key.toString('hex').toUpperCase()};`],
  ['in base64', JSON.stringify({ k: key.toString('base64') })],
  ['in base64url', JSON.stringify({ k: key.toString('base64url') })],
  ['in base64 after one other byte', Buffer.concat([Buffer.of(7), key, Buffer.of(1)]).toString('base64')],
  ['in base64 after two other bytes', Buffer.concat([Buffer.of(7, 255), key, Buffer.of(1)]).toString('base64')],
  ['in base64 after four other bytes', Buffer.concat([randomBytes(4), key, randomBytes(5)]).toString('base64')],
  ['in base64 of several lines', lines(Buffer.concat([randomBytes(50), key]).toString('base64'), 64)],
  ['in PEM inside JSON', JSON.stringify(lines(Buffer.concat([randomBytes(17), key]).toString('base64'), 20))],
  ['as a Buffer in JSON', JSON.stringify({ key })],
  ['as an array in JSON', JSON.stringify({ key: Uint8Array.from(key) })],
  ['as an inspected Buffer', inspect({ key })],
  ['as an inspected array', inspect({ key: Uint8Array.from(key) })],
])('a key is found %s', (_, text) => {
  expect(found(key, text)).toBe(true);
  expect(found(randomBytes(32), text)).toBe(false);
});

describe('a password is found', () => {
  const password = 'p"ss wörd/+%1234';
  test.each<[string, string]>([
    ['as it is', `password ${password}.`],
    ['in JSON', JSON.stringify({ password })],
    ['in a URL', `https://host/?password=${encodeURIComponent(password)}&x`],
    ['in a Basic header', basic(`admin:${password}`)],
    ['in a Basic header of another user', basic(`ad:${password}`)],
    ['in a Basic header of a third user', basic(`adm:${password}`)],
    ['in hex', Buffer.from(`admin:${password}`).toString('hex')],
  ])('%s', (_, text) => {
    expect(found(password, text)).toBe(true);
    expect(found('p"ss wörd/-%1234', text)).toBe(false);
  });
});

test('a secret that could be found by chance is refused', () => {
  expect(() => findSecrets([{ name: 'short', value: 'eleven char' }], [])).toThrow(RangeError);
});

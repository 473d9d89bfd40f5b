import { describe, expect, test } from 'vitest';
import { recipientLabels } from '../../../../lib/client/admin-page/recipients.ts';

const listed = {
  requestId: '0b5c0f4e-8a53-4d0e-9a44-0d5f3c1e7a10',
  dataset: 'EGAD00000000001',
  file: null,
  recipient: 'be5f2b61904a',
};

function labelsOf(entries: Readonly<Record<string, string>> = {}) {
  const kept = new Map(Object.entries(entries));
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  return { labels: recipientLabels(store), kept };
}

describe('a label', () => {
  test('is kept for its recipient alone, without spaces around it', () => {
    const { labels, kept } = labelsOf();
    labels.set('be5f2b61904a', ' Jane ');
    expect([labels.of('be5f2b61904a'), labels.of('a4288285ef7b'), labels.of(null)]).toEqual(['Jane', '', '']);
    expect([...kept]).toEqual([['data-out recipient be5f2b61904a', 'Jane']]);
  });

  test('is never there in a browser that keeps nothing', () => {
    const labels = recipientLabels(undefined);
    labels.set('be5f2b61904a', 'Jane');
    expect([labels.isKept, labels.of('be5f2b61904a')]).toEqual([false, '']);
  });
});

test.each([
  ['egad0000', true],
  ['BE5F2B', true],
  ['0b5c0f4e', true],
  ['jane', true],
  ['EGAD00000000002', false],
  ['null', false],
])('a search for %s finds the export: %s', (words, isFound) => {
  const { labels } = labelsOf({ 'data-out recipient be5f2b61904a': 'Jane' });
  expect(labels.matches(listed, words)).toBe(isFound);
});

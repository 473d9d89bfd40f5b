import { describe, expect, test } from 'vitest';
import { readRefusal } from '../../../../lib/client/admin-page/refusal.ts';

const problem = (more: object) => JSON.stringify({ type: 'about:blank', title: 'x', requestId: 'r-1', ...more });
const read = (status: number, text = '', retryAfter: string | null = null, isOrder = false) =>
  readRefusal({ status, text, retryAfter }, isOrder);

describe('a refusal says what happened and what to do', () => {
  test('of an order: each broken rule by the label of its field', () => {
    const violations = [
      { field: 'userPublicKey', message: 'is not a usable X25519 public key' },
      { field: 'constructor', message: 'is not a known field' },
      'no violation',
    ];
    const { what, violations: told } = read(400, problem({ violations }), null, true);
    expect(what).toBe('The service refused the order:');
    expect(told).toEqual(['Public key: is not a usable X25519 public key', 'constructor: is not a known field']);
  });

  test('of an order: whether it may have been sent', () => {
    for (const status of [429, 503]) expect(read(status, problem({}), '5', true).remedy).toContain('Nothing was sent.');
    for (const status of [0, 500, 502, 504]) {
      expect(read(status, '', null, true).remedy).toContain('may have been sent or not');
    }
    expect(read(500).remedy).not.toContain('sent');
  });
});

test.each(['', 'null', '7', '[]', '{"detail":7,"violations":{},"requestId":null}'])(
  'a reply that is not a problem document (%j) is explained by its status',
  (text) => {
    expect(read(400, text)).toMatchObject({ what: 'The service refused this: 400', violations: [] });
  },
);

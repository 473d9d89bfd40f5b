import { describe, expect, test } from 'vitest';
import { readRefusal } from '../../../../lib/client/admin-page/refusal.ts';

const problem = (more: object) => JSON.stringify({ type: 'about:blank', title: 'x', requestId: 'r-1', ...more });
const read = (status: number, text = '', retryAfter: string | null = null, isOrder = false) =>
  readRefusal({ status, text, retryAfter }, isOrder);

describe('a refusal says what happened and what to do', () => {
  test.each<[string, ReturnType<typeof read>, RegExp, RegExp, boolean]>([
    ['no reply', read(0), /did not answer/, /^Look at your network/, true],
    ['401', read(401, problem({ detail: 'wrong' })), /user name or password/, /^Reload the page, and sign in/, false],
    [
      '403',
      read(403, problem({ code: 'forbidden', detail: 'This takes the role ADMIN.' })),
      /^This takes the role ADMIN\.$/,
      /sign in as a user who has the role ADMIN/,
      false,
    ],
    [
      '403 for another origin',
      read(403, problem({ code: 'foreign_origin', detail: 'A web page of another origin.' })),
      /another origin/,
      /^Open this page at the address of the service itself/,
      false,
    ],
    ['404', read(404, problem({ detail: 'There is no such request.' })), /no such request/, /Refresh/, false],
    ['429', read(429, problem({}), '5'), /too many requests/, /^Try again in 5 seconds\.$/, true],
    ['429 of another gateway', read(429), /too many requests/, /^Try again in a minute\.$/, true],
    ['500', read(500, problem({})), /status 500 \(request r-1\)/, /^Tell the operator/, true],
    ['503', read(503, problem({}), '1'), /cannot answer at the moment \(request r-1\)/, /in 1 second\./, true],
    ['504', read(504, problem({})), /did not answer/, /^Look at your network/, true],
    ['200 of another server', read(200, '<html>Sign in'), /Another server/, /network/, false],
  ])('%s', (_, { what, remedy, isTemporary }, whatExpected, remedyExpected, temporary) => {
    expect(what).toMatch(whatExpected);
    expect(remedy).toMatch(remedyExpected);
    expect(isTemporary).toBe(temporary);
  });

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

import { describe, expect, it } from 'vitest';
import { toPositional } from '../../../../lib/local/rds-data/sql-parameters.ts';

describe('named parameters', () => {
  it.each([
    ['select :a, :b', 'select $1, $2', ['a', 'b']],
    ['select :a + :b + :a', 'select $1 + $2 + $1', ['a', 'b']],
    ['select :id::uuid', 'select $1::uuid', ['id']],
    ['select x::text from t', 'select x::text from t', []],
    [`select ':a', :b`, `select ':a', $1`, ['b']],
    [`select 'it''s :a', :b`, `select 'it''s :a', $1`, ['b']],
    [`select e'\\':a', :b`, `select e'\\':a', $1`, ['b']],
    ['select ":a" from t where x=:b', 'select ":a" from t where x=$1', ['b']],
    ['select $$ :a $$, $x$ :b $$ $x$, :c', 'select $$ :a $$, $x$ :b $$ $x$, $1', ['c']],
    ['select 1 -- :a\n, :b', 'select 1 -- :a\n, $1', ['b']],
    ['select a[1:2], :b', 'select a[1:2], $1', ['b']],
  ])('%s', (sql, positional, names) => {
    expect(toPositional(sql)).toEqual({ sql: positional, names });
  });
});

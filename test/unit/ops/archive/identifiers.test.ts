import { expect, test } from 'vitest';
import { checkIdentifier } from '../../../../lib/ops/archive/identifiers.ts';

test.each(['dataset', 'file'] as const)('a %s id of a smoke test is refused, whatever the settings allow', (kind) => {
  const any = { dataset: /^.*$/u, file: /^.*$/u };
  expect(() => checkIdentifier('--dataset', 'SMOKE-1', kind, any)).toThrow('SMOKE-1 is an id of a smoke test');
  expect(checkIdentifier('--dataset', 'smoke-1', kind, any)).toBe('smoke-1');
});

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { explainReason, reasonCodes } from '../../../lib/contract/reasons.ts';

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (code) => {
  expect(explainReason(code)).toBeUndefined();
});

test('the document of the proxy lists every reason', () => {
  const document = parse(readFileSync('docs/openapi/delivery.yaml', 'utf8'));
  expect(document.components.schemas.Reason.enum).toEqual(reasonCodes);
});

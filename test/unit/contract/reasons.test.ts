import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { explainReason, reasonCodes } from '../../../lib/contract/reasons.ts';
import type { RejectionReason } from '../../../lib/service/export/received.ts';

test.each(reasonCodes)('%s has a meaning, and what an administrator can do', (code) => {
  expect(explainReason(code)).toEqual({
    meaning: expect.stringMatching(/^[a-z].{10,}[^.]$/),
    remedy: expect.stringMatching(/^[A-Z].+[.?]$/),
  });
});

test('a reason without words in this one list does not compile', () => {
  // @ts-expect-error: the compiler asks for its meaning and its remedy.
  const reason: RejectionReason = 'a_new_reason';
  expect(explainReason(reason)).toBeUndefined();
});

test.each([
  ['visa_expired', 'Ask the recipient for a new visa.'],
  ['visa_bad_signature', 'send that file as it is'],
  ['visa_untrusted_issuer', 'Ask the operator'],
  ['not_released', 'Ask the operator to release the dataset'],
])('%s: %s', (code, remedy) => {
  expect(explainReason(code)?.remedy).toContain(remedy);
});

test.each(['', 'visa_', 'visa_other', 'other', 'constructor', 'visa_toString'])('%j has no explanation', (code) => {
  expect(explainReason(code)).toBeUndefined();
});

test('the document of the proxy lists every reason', () => {
  const document = parse(readFileSync('docs/openapi/proxy.yaml', 'utf8'));
  expect(document.components.schemas.Reason.enum).toEqual(reasonCodes);
});

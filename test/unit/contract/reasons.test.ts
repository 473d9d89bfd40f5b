import { expect, test } from 'vitest';
import { explainReason, exportReasons, visaErrors } from '../../../lib/contract/reasons.ts';

const codes = [...Object.keys(exportReasons), ...Object.keys(visaErrors).map((code) => `visa_${code}`)];

test.each(codes)('%s has a meaning, and what an administrator can do', (code) => {
  expect(explainReason(code)).toEqual({
    meaning: expect.stringMatching(/^[a-z].{10,}[^.]$/),
    remedy: expect.stringMatching(/^[A-Z].+[.?]$/),
  });
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

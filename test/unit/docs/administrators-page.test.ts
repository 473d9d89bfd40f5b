import { expect, test } from 'vitest';
import { explainReason, rejectionReasons } from '../../../lib/contract/reasons.ts';
import { readPage } from '../../helpers/pages.ts';

const page = readPage('docs/administrators.md');
const rows = page.split('\n').flatMap((line) => {
  const cells = line.split('|').map((cell) => cell.trim());
  return cells.length > 4 ? [cells.slice(1, -1)] : [];
});

test('the reasons of a rejection are explained as the client explains them', () => {
  const listed = rows.filter(([code = '']) => explainReason(code.replaceAll('`', '')));
  const codes = listed.map(([code = '']) => code.replaceAll('`', ''));
  expect(codes).toEqual(expect.arrayContaining([...Object.keys(rejectionReasons), 'visa_expired', 'visa_denied']));
  const said = codes.map((code) => [`\`${code}\``, explainReason(code)?.meaning, explainReason(code)?.remedy]);
  expect(listed).toEqual(said);
});

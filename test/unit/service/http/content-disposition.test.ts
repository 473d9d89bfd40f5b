import { expect, test } from 'vitest';
import { attachment } from '../../../../lib/service/http/reply.ts';

test.each([
  ['sample.bam', 'attachment; filename="sample.bam"'],
  ['run 7 (b).bam', 'attachment; filename="run 7 (b).bam"'],
  // The example of RFC 8187 § 3.2.3.
  ['£ and € rates', 'attachment; filename="_ and _ rates"; filename*=UTF-8\'\'%C2%A3%20and%20%E2%82%AC%20rates'],
  ["ä'().txt", "attachment; filename=\"_'().txt\"; filename*=UTF-8''%C3%A4%27%28%29.txt"],
  ['a"b\\c%2F.txt', 'attachment; filename="a_b_c_2F.txt"; filename*=UTF-8\'\'a_b_c%252F.txt'],
  ['.bashrc', 'attachment; filename="_bashrc"'],
  ['NUL.txt', 'attachment; filename="_NUL.txt"'],
  ['a\r\nSet-Cookie: b\u0000\u007f', 'attachment; filename="aSet-Cookie_ b"'],
  // U+202E would show it as "txt.exe".
  ['\u202eexe.txt', 'attachment; filename="exe.txt"'],
  ['\ud800x', 'attachment; filename="_x"; filename*=UTF-8\'\'%EF%BF%BDx'],
  [`${'a'.repeat(300)}.bam`, `attachment; filename="${'a'.repeat(250)}.bam"`],
])('%j', (name, header) => {
  expect(attachment(name)).toBe(header);
});

test('a long name is cut between characters', () => {
  const name = attachment(`${'𝛼'.repeat(300)}.bam`);
  // 62 characters of four bytes and four of one: 252 of 254 bytes.
  expect(name).toContain(`filename="${'_'.repeat(62)}.bam"`);
  expect(name).toContain(`UTF-8''${'%F0%9D%9B%BC'.repeat(62)}.bam`);
});

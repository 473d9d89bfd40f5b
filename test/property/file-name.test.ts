import fc from 'fast-check';
import { expect, test } from 'vitest';
import { localPaths } from '../../lib/client/api/download/disk/local-name.ts';
import { safeFileName } from '../../lib/common/names.ts';
import { displayFileName } from '../../lib/service/direct/representation.ts';
import { attachment } from '../../lib/service/http/reply.ts';
import { runs } from '../helpers/runs.ts';

/** The documentation of Windows, word for word: reserved names and characters. */
const windowsDevices = [
  ...['CON', 'PRN', 'AUX', 'NUL', 'CONIN$', 'CONOUT$'],
  ...[...'0123456789¹²³'].flatMap((digit) => [`COM${digit}`, `LPT${digit}`]),
];
const pieces = ['.', '..', ' ', 'a', 'é', '\u0301', '\u202e', '\u2028', '\u0000', '\ud800', '🧬', '.c4gh', '.txt'];
const anyName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({ unit: fc.constantFrom(...pieces, ...'<>:"/\\|?*', ...windowsDevices, 'desktop.ini'), maxLength: 12 }),
);

function expectSafe(name: string): void {
  expect(name).not.toMatch(/^[.\s]|[.\s]$|[<>:"/\\|?*\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  expect(name.length).toBeGreaterThan(0);
  expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(255);
  expect(windowsDevices).not.toContain((name.split('.')[0] ?? '').trimEnd().toUpperCase());
  expect(name.toLowerCase()).not.toBe('desktop.ini');
  // A name that our client refuses is never given.
  expect(() => localPaths('/folder', name)).not.toThrow();
}

test('every text becomes a name that every system can save; a second time changes nothing', () => {
  fc.assert(
    fc.property(anyName, (text) => {
      const name = safeFileName(text);
      expectSafe(name);
      expect(safeFileName(name)).toBe(name);
    }),
    { numRuns: runs(2000) },
  );
});

test('so does what a submitter called a file, in the listing and in Content-Disposition', () => {
  fc.assert(
    fc.property(anyName, anyName, (fileId, submissionFilePath) => {
      const name = displayFileName({ fileId, submissionFilePath });
      expectSafe(name);
      const [, plain = '', encoded] = /^attachment; filename="([^"]*)"(?:; filename\*=UTF-8''(.*))?$/.exec(
        attachment(submissionFilePath),
      ) ?? ['', ''];
      expectSafe(plain);
      if (encoded !== undefined) expectSafe(decodeURIComponent(encoded));
    }),
    { numRuns: runs(1000) },
  );
});

test.each([
  ['.bashrc', '_bashrc'],
  ['..', '__'],
  ['.', '_'],
  ['', '_'],
  ['a.', 'a_'],
  ['a. ', 'a__'],
  [' a', '_a'],
  ['con', '_con'],
  ['Aux.tar.gz', '_Aux.tar.gz'],
  ['COM¹', '_COM¹'],
  ['lpt0 .txt', '_lpt0 .txt'],
  ['conin$', '_conin$'],
  ['CONOUT$.txt', '_CONOUT$.txt'],
  ['Desktop.ini', '_Desktop.ini'],
  ['desktop.ini.bak', 'desktop.ini.bak'],
  ['COM10', 'COM10'],
  ['console.log', 'console.log'],
  ['a<b>c:d"e/f\\g|h?i*j', 'a_b_c_d_e_f_g_h_i_j'],
  ['sample 7 (é).bam', 'sample 7 (é).bam'],
])('%j is called %j', (text, name) => {
  expect(safeFileName(text)).toBe(name);
});

import { describe, expect, test } from 'vitest';
import { selectFiles } from '../../../../../lib/client/cli/download/select-files.ts';

const listed = ['EGAF1-a.bam.c4gh', 'EGAF2-b.cram.c4gh', 'EGAF3-[x].vcf.c4gh', 'EGAF4-x.vcf.c4gh'].map((name) => ({
  name,
  size: 1,
  modified: undefined,
  expires: undefined,
}));
const select = (...wanted: string[]) => selectFiles(listed, wanted).map(({ name }) => name.slice(0, 5));

describe('names and patterns', () => {
  test.each([
    [['EGAF2-b.cram.c4gh'], ['EGAF2']],
    [['*.{bam,cram}.c4gh'], ['EGAF1', 'EGAF2']],
    [['EGAF[2-3]*'], ['EGAF2', 'EGAF3']],
    [['EGAF?-a*', '*.bam.c4gh'], ['EGAF1']],
    [['*'], ['EGAF1', 'EGAF2', 'EGAF3', 'EGAF4']],
    [
      ['EGAF4-x.vcf.c4gh', 'EGAF1-a.bam.c4gh'],
      ['EGAF1', 'EGAF4'],
    ],
  ])('%j select %j, each once, as they are listed', (wanted, expected) => {
    expect(select(...wanted)).toEqual(expected);
  });

  test('a listed name is itself, also when it could be a pattern', () => {
    expect(select('EGAF3-[x].vcf.c4gh')).toEqual(['EGAF3']);
  });

  test('a file id selects its file, and no receipt', () => {
    const files = ['EGAF1.c4gh', 'EGAF1-a.delivery.jws', 'EGAF11-b.c4gh'].map((name) => ({ name }));
    expect(selectFiles(files, ['EGAF1']).map(({ name }) => name)).toEqual(['EGAF1.c4gh']);
    expect(selectFiles(files, ['EGAF11', 'EGAF1'])).toHaveLength(2);
    expect(select('EGAF2')).toEqual(['EGAF2']);
  });

  test('an exclamation mark is a character of the name', () => {
    expect(() => select('!EGAF1*')).toThrow('has no file that matches');
  });
});

describe('a pattern without a match', () => {
  test('is named, and nothing is selected', () => {
    expect(() => select('EGAF1*', 'nothing', 'never*')).toThrow(
      expect.objectContaining({
        code: 'not_found',
        message: 'your outbox has no file that matches "nothing", "never*"',
      }),
    );
  });

  test.each(['', '(', '[', '{'.repeat(100_000)])('is not found when it is not a pattern either', (text) => {
    expect(() => select(text)).toThrow(expect.objectContaining({ code: 'not_found' }));
  });

  test('a part of a name is answered with the name', () => {
    expect(() => select('EGAF2-')).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('Did you mean EGAF2-b.cram.c4gh?') }),
    );
  });
});

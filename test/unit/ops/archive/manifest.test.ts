import { expect, test } from 'vitest';
import { manifestRows } from '../../../../lib/ops/archive/manifest.ts';

const read = (text: string, datasetId?: string) =>
  manifestRows(Buffer.from(text), 'files.csv', datasetId).map((row) => row());
const rows = (text: string, datasetId?: string) => read(text, datasetId).map(({ where: _, ...row }) => row);

test('columns in any order and case, with commas or semicolons, values in quotes, empty lines', () => {
  const text = 'Dataset;PATH;file_id\n\nEGAD1;"a;b.bam";EGAF1\n';
  expect(rows(text)).toEqual([{ name: 'a;b.bam', path: 'a;b.bam', datasetId: 'EGAD1', fileId: 'EGAF1' }]);
});

test('what is left out comes from the command line or is made', () => {
  const text = 'path,submission_path,dataset,file_id\nx/a.bam,study/a.bam,,\nb.bam,,EGAD2,EGAF2\n';
  expect(rows(text, 'EGAD1')).toEqual([
    { name: 'x/a.bam', path: 'study/a.bam', datasetId: 'EGAD1', fileId: undefined },
    { name: 'b.bam', path: 'b.bam', datasetId: 'EGAD2', fileId: 'EGAF2' },
  ]);
});

test('names line and column of a row', () => {
  expect(read('path\na\nb\n', 'EGAD1')[1]?.where('file_id')).toBe('files.csv, line 3, column file_id');
});

test.each([
  ['no path', 'path,file_id\n,EGAF1\n', 'line 2, column path: the value is empty'],
  [
    'no dataset',
    'path,dataset\na,EGAD1\nb,\n',
    'line 3, column dataset: the value is empty, and there is no --dataset',
  ],
  ['a path from the root', 'path,dataset\n/etc/passwd,EGAD1\n', 'line 2, column path: /etc/passwd is outside'],
  ['a path that goes up', 'path,dataset\na/../../b,EGAD1\n', 'line 2, column path: a/../../b is outside'],
  ['a file twice', 'path,dataset\na,EGAD1\na,EGAD2\n', 'line 3, column path: a is already in line 2'],
  [
    'an id twice',
    'path,dataset,file_id\na,EGAD1,EGAF1\nb,EGAD1,EGAF1\n',
    'line 3, column file_id: EGAF1 is already in line 2',
  ],
  [
    'a path of a dataset twice',
    'path,submission_path,dataset\na,,EGAD1\nb,a,EGAD1\n',
    'line 3, column submission_path: a is already in line 2',
  ],
  ['another number of values', 'path,dataset\na,EGAD1\nb\n', 'files.csv, line 3: another number of values'],
  ['quotes that do not end', 'path,dataset\n"a,EGAD1\n', 'quotes are not in pairs'],
  ['an unknown column', 'path,dataset,owner\na,EGAD1,x\n', 'has an unknown column owner'],
  ['a missing column', 'dataset\nEGAD1\n', 'has no column path'],
  ['a column twice', 'path,path\na,b\n', 'has the column path twice'],
  ['no rows', 'path,dataset\n', 'has no rows'],
])('%s is refused', (_what, text, message) => {
  expect(() => read(text)).toThrow(message);
});

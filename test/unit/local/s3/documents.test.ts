import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

/** The limit of a process on the size of its files stands for a full disk: a write of more ends in the middle. */
test('a full disk leaves a document and lines as they were', () => {
  const folder = mkdtempSync(join(tmpdir(), 'data-out-documents-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = `
    process.on('SIGXFSZ', () => {});
    const { appendLine, writeDocument } = await import(${JSON.stringify(pathToFileURL(resolve('lib/local/s3/documents.ts')).href)});
    writeDocument('document.json', 'first');
    appendLine('lines', 'first');
    for (const write of [writeDocument, appendLine]) {
      try {
        write(write === appendLine ? 'lines' : 'document.json', 'x'.repeat(5000));
      } catch (error) {
        console.log(error.code);
      }
    }
    appendLine('lines', 'second');`;
  const argv = ['-c', 'ulimit -f 2; exec "$0" --input-type=module -e "$1"', process.execPath, script];
  const { stdout, stderr } = spawnSync('bash', argv, { cwd: folder, encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['EFBIG\nEFBIG\n', '']);
  expect(readFileSync(join(folder, 'document.json'), 'utf8')).toBe('"first"');
  expect(readFileSync(join(folder, 'lines'), 'utf8')).toBe('"first"\n"second"\n');
  // The part that was written is overwritten by the next document.
  expect(readdirSync(folder).sort()).toEqual(['document.json', 'document.json.new', 'lines']);
});

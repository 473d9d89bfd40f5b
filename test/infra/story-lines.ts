import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** The functions through which one export passes, from the administrator's POST to the staged object. */
const functions = ['proxy/export', 'data-out/consume-export', 'data-out/stage-file'].map(
  (name) => `lambdas/${name}.ts`,
);

/** Values of one export, by the names that the code has for each. */
const values = {
  'visa token': /\b(?:visaToken|jwtToken)\b/,
  'file id': /\bfileId\b/,
  'request id': /\brequestId\b/,
  'export id': /\bexportId\b/,
};

const root = join(import.meta.dirname, '../..');

/** Files of `lib` and `lambdas` in one export's way that name a value, in the order of their paths. */
export function filesNaming(pattern: RegExp): readonly string[] {
  return [...onTheWay()].filter(([, code]) => pattern.test(code)).map(([file]) => file);
}

/** The code, without comments, of everything that the functions import. */
function onTheWay(): ReadonlyMap<string, string> {
  const seen = new Map<string, string>();
  const visit = (file: string) => {
    if (seen.has(file) || !file.endsWith('.ts')) return;
    const code = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    seen.set(file, code);
    for (const [, path = ''] of code.matchAll(/\bfrom '(\.[^']+)'/g)) visit(posix.join(posix.dirname(file), path));
  };
  functions.forEach(visit);
  return new Map([...seen].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `node test/infra/story-lines.ts`: how many files, in how many folders, name each value. */
if (import.meta.main) {
  for (const [value, pattern] of Object.entries(values)) {
    const files = filesNaming(pattern);
    const folders = new Set(files.map((file) => posix.dirname(file)));
    process.stdout.write(`${value}: ${files.length} files in ${folders.size} folders\n  ${files.join('\n  ')}\n`);
  }
}

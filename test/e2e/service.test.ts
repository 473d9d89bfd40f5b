import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { describe } from 'vitest';

// In one file, because an engine and the first start of its functions take many seconds. `-t conformance` runs one of them.
for (const file of globSync('*.e2e.ts', { cwd: import.meta.dirname }).sort()) {
  describe(basename(file, '.e2e.ts'), () => import(`./${file}`));
}

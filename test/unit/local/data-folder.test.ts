import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takeState } from '../../../lib/local/state.ts';

test.each([['is made'], ['that others may read']])('a data folder %s is for its owner alone', (made) => {
  const folder = mkdtempSync(join(tmpdir(), 'data-out-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const dataDir = join(folder, 'data/of/mine');
  if (made !== 'is made') {
    mkdirSync(dataDir, { recursive: true });
    chmodSync(dataDir, 0o777);
  }
  takeState({ dataDir }).release();
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
});

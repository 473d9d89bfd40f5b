import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { takeState } from '../../../lib/local/state.ts';

let folder: string;
let dataDir: string;
const warnings: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-folder-'));
  dataDir = join(folder, 'data');
  warnings.length = 0;
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const take = () => takeState({ dataDir }, (text) => warnings.push(text)).release();
const modeOf = (path: string) => statSync(join(folder, path)).mode & 0o777;

describe('a data folder', () => {
  test('is made for its owner alone, with the folders above it', () => {
    dataDir = join(folder, 'data/of/mine');
    take();
    expect(modeOf('data/of/mine')).toBe(0o700);
    expect(warnings).toEqual([]);
  });

  test('that exists is closed to others', () => {
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o777);
    take();
    expect(modeOf('data')).toBe(0o700);
  });

  test('that is a link is refused', () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), dataDir);
    expect(take).toThrow(/data is a symbolic link: name the folder itself$/);
  });

  test('of another user is refused, and left as it is', () => {
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o755);
    const other = (process.getuid?.() ?? 0) + 1;
    if (process.getuid?.() === 0) chownSync(dataDir, other, other);
    else vi.spyOn(process, 'getuid').mockReturnValue(other);
    expect(take).toThrow(/data belongs to another user: name your own folder$/);
    expect(modeOf('data')).toBe(0o755);
  });

  test.each([
    [0o777, 1],
    [0o775, 1],
    [0o1777, 0],
    [0o755, 0],
  ])('below a folder of mode %o is warned of %i times', (mode, times) => {
    chmodSync(folder, mode);
    take();
    expect(warnings).toEqual(
      Array.from(
        { length: times },
        () => `other users may write to ${folder} and could replace ${dataDir}: choose a folder that is yours alone`,
      ),
    );
  });
});

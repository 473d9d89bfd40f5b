import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** A small disk in memory. */
export interface SmallDisk {
  /** Gives it another size. */
  resize(size: string): void;
  unmount(): void;
}

/** Mounts a small disk. @param size such as `8m` @returns `undefined` if this user may not mount one */
export function mountSmallDisk(folder: string, size: string): SmallDisk | undefined {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  return {
    resize: (other) => execFileSync('mount', ['-o', `remount,size=${other}`, folder]),
    unmount: () => execFileSync('umount', ['-l', folder]),
  };
}

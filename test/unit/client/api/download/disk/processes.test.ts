import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { bootId, isRunning, thisProcess } from '../../../../../../lib/client/api/download/disk/processes.ts';

test('this process runs, and on Linux the system says since when, and since when the machine does', () => {
  expect(isRunning(thisProcess)).toBe(true);
  expect(thisProcess.began).toMatch(/^\d+$/);
  expect(bootId).toMatch(/^[0-9a-f-]{36}$/);
});

test('a process of the same number that began at another time does not run', () => {
  expect(isRunning({ ...thisProcess, began: '1' })).toBe(false);
  expect(isRunning({ ...thisProcess, pid: 2 ** 30 })).toBe(false);
});

test('where no start time is known, the number counts', () => {
  expect(isRunning({ ...thisProcess, began: '' })).toBe(true);
});

test('of a process on another host nothing is known', () => {
  expect(isRunning({ ...thisProcess, host: 'elsewhere' })).toBeUndefined();
});

test('a process that has ended does not run, even if its parent never asks for its exit status', async () => {
  // By the time that the first sleep ends, the shell has become the second one, which asks for nothing.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await vi.waitFor(() => expect(isRunning({ ...thisProcess, pid, began: '' })).toBe(false));
    // The system still has it.
    expect(process.kill(pid, 0)).toBe(true);
  } finally {
    parent.kill();
  }
});

import { expect, test } from 'vitest';
import { giveBack, ReadMemory } from '../../../../lib/client/api/read-memory.ts';

const mebibyte = 2 ** 20;

/** Reads the whole slab that is begun, in two pieces. */
function readSlab(memory: ReadMemory): Buffer[] {
  const first = memory.next();
  expect(first.length).toBe(mebibyte);
  const half = memory.read(mebibyte / 2);
  memory.next();
  return [half, memory.read(mebibyte / 2)];
}

test('memory is used again when all that was read into it has been given back, not before', () => {
  const memory = new ReadMemory();
  const [first, second] = readSlab(memory) as [Buffer, Buffer];
  giveBack([first]);
  expect(memory.next().buffer).not.toBe(first.buffer);
  giveBack([second]);
  // By whatever connection needs memory next.
  expect(new ReadMemory().next().buffer).toBe(first.buffer);
});

test('memory is not used again while it is read into, though all until now has been given back', () => {
  const memory = new ReadMemory();
  memory.next();
  const chunk = memory.read(1000);
  giveBack([chunk]);
  const other = new ReadMemory().next();
  expect(other.buffer).not.toBe(chunk.buffer);
  expect(memory.next().byteOffset).toBe(chunk.byteOffset + 1000);
});

test('memory that was only partly given back, such as that of a reply with its headers, is never used again', () => {
  const memory = new ReadMemory();
  const [first, second] = readSlab(memory) as [Buffer, Buffer];
  memory.next();
  giveBack([first.subarray(300), second]);
  const later = Array.from({ length: 40 }, () => new ReadMemory().next().buffer);
  expect(later).not.toContain(first.buffer);
});

test('other memory may be given back, too', () => {
  expect(() => giveBack([new Uint8Array(10), Buffer.from('x')])).not.toThrow();
});

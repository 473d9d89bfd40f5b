import { Option } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';

/** Bytes [start, end) of a plaintext, after its edit list; without `end`, to the end. */
export interface ByteRangeOption {
  readonly start: number;
  readonly end: number | undefined;
}

const name = '--range';
const help = 'only bytes a to b-1 of the plaintext, from 0; a- to the end';

/** `--range` of every command that takes one range. Its value is a {@link ByteRangeOption}. */
export function rangeOption() {
  return new Option('--range <a-b>', help).argParser((text, before: ByteRangeOption | undefined) => {
    if (before !== undefined) throw usageError(name, 'give one range');
    return parseRange(text);
  });
}

function parseRange(text: string): ByteRangeOption {
  const [, first = '', second = ''] = /^(\d{1,16})-(\d{0,16})$/.exec(text) ?? [];
  const start = Number(first);
  const end = second === '' ? undefined : Number(second);
  const last = end ?? start + 1;
  if (first === '' || !Number.isSafeInteger(start) || !Number.isSafeInteger(last) || last <= start) {
    throw usageError(name, 'expected a-b or a-: bytes a to b-1, counted from 0', 'The first 100 bytes are 0-100.');
  }
  return { start, end };
}

/** @param size bytes of the plaintext @throws UsageError for a range that begins after its end */
export function checkWithin({ start }: ByteRangeOption, size: number): void {
  if (start < size) return;
  throw usageError(
    name,
    `the range begins after the end: the file has ${size} bytes`,
    'Give a range that begins before its end.',
  );
}

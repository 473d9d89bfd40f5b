import { describe, expect, test } from 'vitest';
import { abortable, Counter, tee } from '../../../../lib/ops/archive/streams.ts';
import { collect, outcomeOf } from '../../../helpers/crypt4gh-vectors.ts';

async function* chunks(count: number, size: number, pulled: { count: number }): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    pulled.count += 1;
    yield Buffer.alloc(size, index);
  }
}

test('size and digest of what passes', async () => {
  const counter = new Counter();
  await collect(
    counter.count(
      (async function* () {
        yield Buffer.from('a');
        yield Buffer.from('bc');
      })(),
    ),
  );
  expect(counter.size).toBe(3);
  // SHA-256 of "abc", FIPS 180-2 appendix B.1.
  expect(counter.digest).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

describe('tee', () => {
  test('both see every byte', async () => {
    const seen: Uint8Array[] = [];
    const passed = tee(chunks(5, 10, { count: 0 }), async (copy) => {
      for await (const chunk of copy) seen.push(chunk);
    });
    const bytes = await collect(passed);
    expect(bytes.length).toBe(50);
    expect(Buffer.concat(seen).equals(bytes)).toBe(true);
  });

  test('a watcher that stops early does not shorten what passes', async () => {
    const passed = tee(chunks(5, 10, { count: 0 }), async (copy) => {
      for await (const _ of copy) break;
    });
    expect((await collect(passed)).length).toBe(50);
  });

  test("a watcher's error ends what passes, even after the last byte", async () => {
    const passed = tee(chunks(2, 10, { count: 0 }), async (copy) => {
      for await (const _ of copy);
      throw new Error('the tail is damaged');
    });
    expect((await outcomeOf(passed)).error).toMatchObject({ message: 'the tail is damaged' });
  });

  test("the source's error ends what passes", async () => {
    const source = (async function* () {
      yield Buffer.from('a');
      throw new Error('the disk is gone');
    })();
    const passed = tee(source, async (copy) => {
      for await (const _ of copy);
    });
    expect((await outcomeOf(passed)).error).toMatchObject({ message: 'the disk is gone' });
  });

  test('a slow reader holds the source back: memory stays bounded', async () => {
    const pulled = { count: 0 };
    const passed = tee(chunks(100, 1 << 20, pulled), async (copy) => {
      for await (const _ of copy);
    });
    await passed.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(pulled.count).toBeLessThan(6);
    await passed.return(undefined);
  });
});

describe('abortable', () => {
  test('a silent source is left when the signal comes', async () => {
    const controller = new AbortController();
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    const reading = outcomeOf(abortable(silent, controller.signal));
    controller.abort(new Error('stop'));
    expect((await reading).error).toMatchObject({ message: 'stop' });
  });

  test('a signal that existed before reads nothing', async () => {
    const pulled = { count: 0 };
    const outcome = await outcomeOf(abortable(chunks(3, 1, pulled), AbortSignal.abort(new Error('stop'))));
    expect(outcome.error).toMatchObject({ message: 'stop' });
    expect(pulled.count).toBe(0);
  });

  test('without a signal all bytes pass', async () => {
    expect((await collect(abortable(chunks(3, 2, { count: 0 }), new AbortController().signal))).length).toBe(6);
  });
});

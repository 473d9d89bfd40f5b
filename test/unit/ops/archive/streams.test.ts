import { describe, expect, test } from 'vitest';
import { abortable, tee } from '../../../../lib/ops/archive/streams.ts';
import { outcomeOf } from '../../../helpers/crypt4gh-vectors.ts';

async function* chunks(count: number, size: number, pulled: { count: number }): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    pulled.count += 1;
    yield Buffer.alloc(size, index);
  }
}

describe('tee', () => {
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
});

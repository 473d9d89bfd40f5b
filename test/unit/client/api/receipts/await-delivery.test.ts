import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ClientError } from '../../../../../lib/client/api/errors.ts';
import { type AwaitDeliveryOptions, awaitDelivery } from '../../../../../lib/client/api/receipts/await-delivery.ts';
import { fetchReceipts } from '../../../../../lib/client/api/receipts/fetch-receipts.ts';
import { parseKeySet } from '../../../../../lib/client/api/receipts/key-set.ts';
import type { DeliveryReceipt } from '../../../../../lib/contract/delivery.ts';
import { DownloadWorld } from '../../../../helpers/download-world.ts';
import { ReceiptSigner, receiptOf, requestId } from '../../../../helpers/receipts.ts';

const signer = new ReceiptSigner();
const dataset = 'EGAD00000000001';
/** Seconds since 1970. */
const seconds = (text: string) => Date.parse(text) / 1000;

let world: DownloadWorld;
beforeAll(async () => {
  world = await DownloadWorld.start();
});
afterEach(() => world.clear());
afterAll(() => world?.stop());

const nameOf = ({ dataset: id, jti }: Pick<DeliveryReceipt, 'dataset' | 'jti'>) => `${id}-${jti}.delivery.jws`;

function put(receipt: DeliveryReceipt, by = signer): void {
  world.server.put(nameOf(receipt), by.sign(receipt), new Date(receipt.iat * 1000));
}

/** Of the service, all of them. */
const keys = async () => parseKeySet(JSON.stringify(world.server.keySet), 'test');

const retried: ClientError[] = [];

/** Waits; `looks` are called before the pauses, one each. */
async function awaited(
  wanted: Partial<AwaitDeliveryOptions> = {},
  looks: readonly (() => void)[] = [],
  timeoutMs = 86_400_000,
) {
  world.server.keySet ??= signer.keySet;
  retried.length = 0;
  world.server.requests.length = 0;
  const left = [...looks];
  const proxy = world.proxy({
    retries: { attempts: 1, firstMs: 1, longestMs: 1 },
    timing: {
      now: () => new Date(clock),
      random: () => 0.5,
      sleep: async (milliseconds, signal) => {
        signal?.throwIfAborted();
        clock += milliseconds;
        world.pauses.push(milliseconds);
        left.shift()?.();
      },
    },
  });
  return await awaitDelivery({
    proxy,
    dataset: undefined,
    has: async () => false,
    timeoutMs,
    fetch: (files) => fetchReceipts({ proxy, files, keys }),
    retrying: (error) => retried.push(error),
    signal: undefined,
    ...wanted,
  });
}
let clock = 0;
/** Downloads of receipts. */
const downloads = () => world.server.count(/^GET \/bucket\//);

const made = (number: number, requested_at: string, others: Partial<DeliveryReceipt> = {}) =>
  receiptOf([], { jti: requestId(number), requested_at, iat: seconds('2026-11-22T10:00:00Z'), ...others });

describe('a new receipt', () => {
  const receipt = receiptOf([], { iat: seconds('2026-11-22T10:00:00Z') });

  test('ends the waiting as soon as it is listed', async () => {
    put(receipt);
    expect(await awaited()).toEqual(receipt);
    expect(world.pauses).toEqual([]);
  });

  test('is not one that the folder has, but another generation of it is', async () => {
    const again = { ...receipt, generation: 2, iat: seconds('2026-11-22T12:00:00Z') };
    put(receipt);
    const has = async ({ modified }: { readonly modified: Date | undefined }) =>
      modified?.getTime() === receipt.iat * 1000;
    expect(await awaited({ has }, [() => {}, () => put(again)])).toEqual(again);
    expect(downloads()).toBe(1);
  });

  test('in parts is awaited until each part is of one generation', async () => {
    const part = (number: number, generation: number) => {
      const name = number === 2 ? nameOf(receipt) : nameOf(receipt).replace(/(?=\.delivery)/, `.part-${number}`);
      const iat = seconds(`2026-11-22T1${generation}:00:0${number}Z`);
      const signed = signer.sign({ ...receipt, iat, generation, part: number, parts: 2 });
      world.server.put(name, signed, new Date(iat * 1000));
    };
    part(2, 1);
    part(1, 2);
    const looks = [() => {}, () => part(2, 2)];
    expect(await awaited({}, looks)).toMatchObject({ generation: 2, files: [] });
    expect(looks).toHaveLength(2);
    // Both parts, and both again when one has changed.
    expect(downloads()).toBe(4);
  });

  test('must be genuine', async () => {
    put(receipt, new ReceiptSigner());
    await expect(awaited()).rejects.toMatchObject({
      code: 'not_verified',
      message: expect.stringContaining(`${nameOf(receipt)}: the signature`),
    });
  });

  test('is that of the newest request where there are several', async () => {
    const newest = made(5, '2026-11-22T09:50:00Z');
    for (const each of [made(4, '2026-11-22T09:10:00Z'), newest, made(6, '2026-11-22T09:30:00Z')]) put(each);
    expect(await awaited()).toEqual(newest);
  });

  test('can have to be of a dataset', async () => {
    put(made(2, '2026-11-22T09:30:00Z', { dataset: 'EGAD00000000002' }));
    const right = made(4, '2026-11-22T09:00:00Z', { kind: 'file' });
    expect(await awaited({ dataset }, [() => {}, () => put(right)])).toEqual(right);
  });
});

describe('the waiting', () => {
  test('ends at its time, and says what to do', async () => {
    await expect(awaited({ dataset }, [], 60_000)).rejects.toMatchObject({
      code: 'timeout',
      message: `there is no new delivery receipt of ${dataset} yet`,
      remedy: expect.stringContaining('administrator'),
    });
    expect(world.pauses.reduce((sum, pause) => sum + pause, 0)).toBe(60_000);
  });

  test('continues when the service does not answer for a while', async () => {
    put(receiptOf([]));
    world.faults.break({ on: 'api', fault: { kind: 'answer', status: 503 }, times: 3 });
    expect(await awaited()).toMatchObject({ jti: requestId(1) });
    expect(retried).toHaveLength(3);
  });

  test('ends when the service has no keys', async () => {
    put(receiptOf([]));
    world.server.keySet = { keys: [] };
    await expect(awaited()).rejects.toMatchObject({ code: 'usage' });
  });
});

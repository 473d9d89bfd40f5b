import { afterAll, beforeAll, expect, test } from 'vitest';
import { Service } from '../../helpers/service.ts';

const size = 200_000;
let service: Service;
let fileId: string;
let visa: string;
beforeAll(async () => {
  service = await Service.shared();
  ({ fileId } = await service.archive('EGAD1', 'dir/sample.bam', size));
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
});
afterAll(async () => {
  // Other files share the engine.
  service.engine.gateway.contentLengthWithoutBody = 'kept';
  await service.stop();
});

test.each([
  ['kept', '200000', undefined],
  ['dropped', undefined, undefined],
  ['renamed', undefined, '200000'],
  ['zero', '0', '200000'],
] as const)('HEAD and 304 of a file say its size, also where its length is %s', async (fate, length, renamed) => {
  service.engine.gateway.contentLengthWithoutBody = fate;
  const head = await service.direct(`files/${fileId}`, visa, { method: 'HEAD' });
  expect([head.status, head.headers['x-file-size']]).toEqual([200, String(size)]);
  expect([head.headers['content-length'], head.headers['x-amzn-remapped-content-length']]).toEqual([length, renamed]);
  const headers = { Authorization: `Bearer ${visa}`, 'If-None-Match': head.headers.etag ?? '' };
  const unchanged = await service.direct(`files/${fileId}`, undefined, { headers });
  expect([unchanged.status, unchanged.text, unchanged.headers['x-file-size']]).toEqual([304, '', String(size)]);
});

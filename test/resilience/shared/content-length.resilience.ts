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
afterAll(() => service.stop());

// AWS does not document what happens to the Content-Length of a streamed reply without a body.
test('HEAD and 304 of a file say its size in X-File-Size', async () => {
  const head = await service.direct(`files/${fileId}`, visa, { method: 'HEAD' });
  expect([head.status, head.headers['x-file-size']]).toEqual([200, String(size)]);
  const headers = { Authorization: `Bearer ${visa}`, 'If-None-Match': head.headers.etag ?? '' };
  const unchanged = await service.direct(`files/${fileId}`, undefined, { headers });
  expect([unchanged.status, unchanged.text, unchanged.headers['x-file-size']]).toEqual([304, '', String(size)]);
});

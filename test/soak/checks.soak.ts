import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Service } from '../helpers/service.ts';
import { SoakArchive, type SoakFile } from './archive.ts';
import { Others } from './others.ts';
import { checkOutbox, newRecipient } from './recipients.ts';

/** The checks of the other suites see a loss, a double, a changed byte and a leak. */

let service: Service;
let files: readonly SoakFile[];

beforeAll(async () => {
  service = await Service.start();
  files = await (await SoakArchive.fill(service)).dataset('EGAD1', 7, false);
});
afterAll(() => service?.stop());

test('an outbox with a container too many, one too few, a changed one, or one for another key', async () => {
  const recipient = newRecipient('checked');
  for (const file of files) recipient.files.set(file.fileId, file);
  const visa = await service.visa({ subject: recipient.subject, datasetId: 'EGAD1' });
  const { publicKey } = recipient.keys;
  await service.settled(await service.exported({ id: 'EGAD1', visa, publicKey }), files.length);
  expect((await checkOutbox(service, recipient)).size).toBe(7);

  const other = newRecipient(recipient.subject);
  await expect(checkOutbox(service, { ...recipient, keys: other.keys })).rejects.toThrow('not for this reader');

  await service.putStaged(recipient.subject, 'EGAF1-more.c4gh', 'x');
  await expect(checkOutbox(service, recipient)).rejects.toThrow('EGAF1-more.c4gh: not exported');
  const Bucket = service.connection.outputs.OutboxBucketName;
  const keyOf = (name = '') => ({ Bucket, Key: `${service.prefix(recipient.subject)}/${name}` });
  await service.s3.send(new DeleteObjectCommand(keyOf('EGAF1-more.c4gh')));

  const changed = keyOf(files[2]?.container);
  const { Body } = await service.s3.send(new GetObjectCommand(changed));
  const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
  bytes[200]! ^= 1;
  await service.s3For(changed.Key).send(new PutObjectCommand({ ...changed, Body: bytes }));
  await expect(checkOutbox(service, recipient)).rejects.toThrow('its body is not the archived one');

  await service.s3.send(new DeleteObjectCommand(changed));
  await expect(checkOutbox(service, recipient)).rejects.toThrow(`${files[2]?.container}: missing`);
});

test('a reply with data of others, unless the request named it', async () => {
  const others = await Others.make(service, ['bertha']);
  const [, fileId = '', path = ''] = others.names;
  const request = { api: 'proxy', method: 'GET', path: `files/${fileId}`, headers: {}, body: undefined } as const;
  expect(others.foundIn(Buffer.from('{"files":[]}'), request)).toEqual([]);
  expect(others.foundIn(Buffer.from(fileId), request)).toEqual([]);
  expect(others.foundIn(Buffer.from(`${fileId} ${path}`), request)).toEqual([
    `the name ${path}`,
    'the name private-of-bertha',
  ]);
  const [[key] = []] = await service.sql(`select archive_file_path from sda.files where stable_id = '${fileId}'`);
  const body = await service.object('ArchiveBucketName', key ?? '');
  expect(others.foundIn(Buffer.concat([Buffer.from('crypt4gh'), body]), request)).toEqual([`the body of ${fileId}`]);
});

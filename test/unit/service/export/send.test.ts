import { beforeEach, expect, test } from 'vitest';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
});
const countOf = async (id: string, state: string) =>
  Number(
    (
      await world.database.sql(
        `select count(*) from data_out.request_files where request_id = '${id}' and state = '${state}'`,
      )
    )[0]?.[0],
  );

test('3,503 files are accepted in chunks, sent by pages of 1,000, and after the end of the time from where the rows say', async () => {
  world.membersAtOnce = 1500;
  await world.addDataset('EGAD1', []);
  // Five of 3,508 are not ingested: without a header, a body or an id.
  await world.database.sql(`with file as (
      insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header)
      select case n when 3508 then null else 'F' || n end, 'f', case n when 3507 then '' else 'body' end, 100,
        case n when 3504 then null when 3505 then '' when 3506 then '' else '00' end
      from generate_series(1, 3508) n returning id)
    insert into sda.file_dataset (file_id, dataset_id) select file.id, d.id from file, sda.datasets d`);
  const id = world.request();
  // The first question is for the time of the transaction.
  const answers = Array(4).fill(900_000);
  world.remainingMs = () => answers.pop() ?? 20_000;
  await expect(world.consume()).rejects.toMatchObject({ code: 'temporarily_unavailable', retryAfterSeconds: 0 });
  expect([await countOf(id, 'sent'), await countOf(id, 'waiting'), world.sentFiles.length]).toEqual([3000, 503, 3000]);
  expect(await world.requestRow(id)).toMatchObject({ state: 'accepted', files: 3503 });
  world.remainingMs = () => 900_000;
  const start = world.calls.names.length;
  expect(await world.consume()).toMatchObject({ outcome: 'accepted', files: 3503 });
  expect(world.calls.names.slice(start).filter((name) => name === 'smallFileExports.send')).toHaveLength(1);
  expect(await countOf(id, 'sent')).toBe(3503);
  expect(world.sentFiles).toHaveLength(3503);
  expect(new Set(world.sentFiles.map(({ fileId }) => fileId)).size).toBe(3503);
  expect(world.sentFiles.filter(({ fileId }) => /^F350[4-8]$/.test(fileId))).toEqual([]);
});

test('a single file that is not ingested gets a row, and ends as damaged', async () => {
  await world.addDataset('EGAD1', ['F1']);
  await world.database.sql("update sda.files set header = null, archive_file_size = null where stable_id = 'F1'");
  const id = world.request({ fileId: 'F1' });
  expect(await world.consume()).toMatchObject({ outcome: 'accepted', files: 1 });
  expect(world.sentFiles).toEqual([{ requestId: id, fileId: 'F1' }]);
  await world.deliverAll();
  expect(await world.statesOf(id)).toEqual(['F1: given_up archive_damaged']);
  expect(await world.requestRow(id)).toMatchObject({ state: 'incomplete', settled_revision: 1 });
});

test('a message that overtakes the mark of its row is staged, and the mark does not open the row again', async () => {
  await world.addDataset('EGAD1', ['F1', 'F2']);
  const id = world.request();
  const { smallFileExports } = world.sweeping;
  // The queue delivers before the sender comes to its next statement.
  Object.defineProperty(world, 'consuming', {
    value: {
      ...world.consuming,
      smallFileExports: {
        send: async (...message: Parameters<typeof smallFileExports.send>) => {
          await smallFileExports.send(...message);
          await world.stage();
        },
      },
    },
  });
  await world.consume();
  expect(await world.statesOf(id)).toEqual(['F1: staged', 'F2: staged']);
  expect(world.sentFiles).toEqual([]);
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', settled_revision: 1 });
});

test('nothing is sent for a recipient who was erased meanwhile', async () => {
  await world.addDataset('EGAD1', ['F1']);
  const id = world.request();
  await world.consume();
  world.queues.smallFileExports.length = 0;
  await world.database.sql("update data_out.request_files set state = 'waiting'");
  await world.database.sql('update data_out.requests set recipient = null, public_key = null, depends_on = null');
  world.request({ datasetId: 'EGAD1' }, { id });
  expect(await world.consume()).toMatchObject({ outcome: 'accepted', requestId: id });
  expect([world.sentFiles, world.queues.deliveries]).toEqual([[], []]);
});

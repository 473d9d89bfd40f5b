import { expect, test } from 'vitest';
import type { FileResult } from '../../../../../lib/client/api/download/download-file.ts';
import { ClientError } from '../../../../../lib/client/api/errors.ts';
import { Claims } from '../../../../../lib/client/api/receipts/claims.ts';
import { downloadReporter } from '../../../../../lib/client/cli/download/download-reporter.ts';
import { createOutput } from '../../../../../lib/terminal/output.ts';
import type { Progress } from '../../../../../lib/terminal/progress.ts';
import { makeTerminal } from '../../../../helpers/ops-world.ts';

/** A reporter, what it said, and what its progress was told. */
function reporterOf({ json = false, quiet = false, files = 2 } = {}) {
  const { terminal, said } = makeTerminal();
  const told: string[] = [];
  const progress: Progress = {
    task(label, total, done = 0) {
      told.push(`${label} ${done}/${total}`);
      return {
        set: (bytes, size) => void told.push(`at ${bytes}/${size}`),
        add: (bytes) => void told.push(`plus ${bytes}`),
        end: () => void told.push('end'),
        [Symbol.dispose]: () => undefined,
      };
    },
    counter: () => ({ add: () => undefined, end: () => undefined }),
    expect: () => undefined,
    around: (write) => write(),
    end: () => undefined,
  };
  const reporter = downloadReporter(createOutput(terminal, { json, quiet }), progress, files);
  const summarize = (...results: FileResult[]) => reporter.summarize(2000, results, new Claims([]));
  return { reporter, summarize, said, told };
}

const whole = { name: 'a', size: 2048, path: '/data/a', outcome: 'downloaded' } as const;
const failed = (name: string, error: ClientError) =>
  ({ type: 'finished', result: { name, size: 1, path: `/data/${name}`, outcome: 'failed', error } }) as const;

test('an error that stops thousands of files is reported once; Ctrl-C is not reported', () => {
  const { reporter, summarize, said } = reporterOf({ files: 5000 });
  const stopped = new ClientError('local_disk', 'the disk is full');
  for (let file = 0; file < 5000; file += 1) reporter.onEvent(failed(`${file}`, stopped));
  expect(said.stderr).toBe('warning: 0: the disk is full\n');
  reporter.onEvent(failed('z', new ClientError('interrupted', 'interrupted')));
  expect(said.stderr).toBe('warning: 0: the disk is full\n');
  summarize();
  expect(said.stderr).toBe(
    'warning: 0: the disk is full\n5000 files: 0 downloaded (0 B in 2.0 s), 5000 not whole, none verified\n',
  );
});

test('with json every file is an object, also a failure, and the sum comes last', () => {
  const { reporter, summarize, said } = reporterOf({ json: true });
  reporter.onEvent({ type: 'finished', result: whole });
  reporter.onEvent(failed('b', new ClientError('damaged', 'b is damaged', { remedy: 'Ask again.' })));
  summarize(whole);
  const lines = said.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    { name: 'a', outcome: 'downloaded', size: 2048, path: '/data/a' },
    {
      name: 'b',
      outcome: 'failed',
      size: 1,
      path: '/data/b',
      error: { code: 'damaged', message: 'b is damaged', remedy: 'Ask again.' },
    },
    { summary: { files: 2, downloaded: 1, skipped: 0, failed: 1, bytes: 2048, verified: 0, receipts: [] } },
  ]);
});

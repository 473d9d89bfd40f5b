import { expect, test } from 'vitest';
import { EngineError, fullDiskError } from '../../../lib/local/errors.ts';

const folders = { synth: '/checkout/cdk.out', state: '/data/state' };
const state = 'the disk of /data/state is full: make room there, or name a folder on another disk with --data-dir';
const full = (code: string) =>
  Object.assign(new Error(`${code}: cp, '/cache/postgres/1213_vm'`), { code, syscall: 'cp' });

test.each([
  ['a copy', full('ENOSPC'), state],
  ['a quota', full('EDQUOT'), state],
  ['a cause', new EngineError('the database did not start', { cause: full('ENOSPC') }), state],
  ['words of PostgreSQL', new Error('could not extend file "base/1/1259": No space left on device'), state],
  ['words of SQLite', new Error('the embedded SQS engine: Error: database or disk is full'), state],
  [
    'words of the synth',
    new EngineError("The synth of the template failed: ENOSPC: no space left on device, open 'x'"),
    'the disk of /checkout/cdk.out is full: make room there, then start again',
  ],
])('%s names the disk that is full', (_what, error, message) => {
  const named = fullDiskError(error, folders);
  expect(named).toBeInstanceOf(EngineError);
  expect(named).toMatchObject({ message });
});

test.each([[new EngineError('port 8080 is taken')], [Object.assign(new Error('no'), { code: 'EACCES' })], ['text']])(
  '%s stays as it is',
  (error) => {
    expect(fullDiskError(error, folders)).toBe(error);
  },
);

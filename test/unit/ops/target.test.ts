import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { GlobalOptions } from '../../../lib/ops/session.ts';
import { connectTarget } from '../../../lib/ops/target.ts';
import { exampleConnection, makeTerminal } from '../../helpers/ops-world.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-target-'));
});

async function connectionFile(name: string, proxyUrl: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, JSON.stringify({ ...exampleConnection, proxyUrl }));
  return file;
}

const connect = (options: Partial<GlobalOptions>, env = {}) =>
  connectTarget({ stackPrefix: 'DataOut', ...options }, makeTerminal({ folder, env }).terminal);

describe('the local engine', () => {
  test('is found by the option, then by the variable, then in the folder', async () => {
    await connectionFile('.local/connection.json', 'http://127.0.0.1:1/folder');
    const byVariable = await connectionFile('variable.json', 'http://127.0.0.1:2/variable');
    await connectionFile('option.json', 'http://127.0.0.1:3/option');
    const env = { DATA_OUT_CONNECTION: byVariable };
    expect((await connect({ connection: 'option.json' }, env)).description).toBe(
      'local engine http://127.0.0.1:3/option',
    );
    expect((await connect({}, env)).description).toBe('local engine http://127.0.0.1:2/variable');
    expect((await connect({})).description).toBe('local engine http://127.0.0.1:1/folder');
  });

  test('a named file that is missing is not replaced by another', async () => {
    await connectionFile('.local/connection.json', 'http://127.0.0.1:1/folder');
    await expect(connect({ connection: 'gone.json' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(connect({}, { DATA_OUT_CONNECTION: 'gone.json' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('without a file and without --aws nothing is guessed', async () => {
    await expect(connect({})).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/npm start.*--aws/),
    });
  });

  test.each(['{}', 'not JSON', '{"proxyUrl":"http://127.0.0.1"}'])('%j is no connection file', async (text) => {
    await writeFile(join(folder, 'odd.json'), text);
    await expect(connect({ connection: 'odd.json' })).rejects.toMatchObject({ code: 'unusable_input' });
  });
});

describe('options of the other kind of target are refused, not ignored', () => {
  test.each([
    [{ stage: 'test' }, '--stage'],
    [{ region: 'eu-north-1' }, '--region'],
    [{ aws: true, connection: 'x.json' }, '--connection'],
  ])('%j', async (options, field) => {
    await expect(connect(options)).rejects.toMatchObject({ violations: [{ field, message: expect.any(String) }] });
  });
});

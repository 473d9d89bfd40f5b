import { expect, test } from 'vitest';
import { runCli } from '../../../helpers/cli-run.ts';

const run = (command: string, env: Readonly<Record<string, string>>) =>
  runCli([command], { env: { DATA_OUT_URL: 'https://service.test/v1/', DATA_OUT_VISA: 'a.b.c', ...env } });

test('doctor names a proxy that is dead, and its variable, not the service', async () => {
  const { exitCode, stdout } = await run('doctor', { HTTPS_PROXY: 'http://user:secret@127.0.0.1:9' });
  expect(exitCode).toBe(7);
  const [, remedy] =
    /failed +address +your forward proxy 127\.0\.0\.1:9 \(HTTPS_PROXY\): .*\n +(.*)\n/.exec(`${stdout}`) ?? [];
  expect(remedy).toContain('Check HTTPS_PROXY and the network.');
});

test.each(['doctor', 'list'])('%s says that SOCKS is not supported', async (command) => {
  const { exitCode, stdout, stderr } = await run(command, { ALL_PROXY: 'socks5h://127.0.0.1:1080' });
  expect(exitCode).toBe(2);
  expect(`${stdout}${stderr}`).toMatch(/ALL_PROXY names a SOCKS proxy, which is not supported\n.*HTTP proxy.*NO_PROXY/);
});

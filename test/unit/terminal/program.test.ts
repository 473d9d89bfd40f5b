import { describe, expect, test } from 'vitest';
import { client, ops } from '../../helpers/command-lines.ts';

describe.each([client, ops])('$name', ({ name, run }) => {
  test.each([
    ['a command', name === 'data-out' ? ['lst'] : ['audt'], name === 'data-out' ? 'list' : 'audit'],
    [
      'a command below one',
      name === 'data-out' ? ['keys', 'shw'] : ['archive', 'ad'],
      name === 'data-out' ? 'show' : 'add',
    ],
    ['an option', ['completion', '--qiet', 'bash'], '--quiet'],
  ])('suggests %s on the same line', async (_what, argv, meant) => {
    const { exitCode, stderr } = await run(argv);
    expect(stderr).toMatch(new RegExp(`^${name}: unknown .* \\(Did you mean ${meant}\\?\\)\n$`));
    expect(exitCode).toBe(2);
  });

  test('tells wrong usage to a program by the same code', async () => {
    const { exitCode, stdout, stderr } = await run(['--json', 'no-such-command']);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'usage', message: "unknown command 'no-such-command'" } });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  });
});

describe('an option that both the program and a command have', () => {
  test.each([
    [['retire-release', '--version', '9.9.9']],
    [['retire-release', '--version=9.9.9']],
    // The value of a global option is the name of another command.
    [['--stage', 'audit', 'retire-release', '--version', '9.9.9']],
    [['--stage=audit', '--aws', 'retire-release', '--version', '9.9.9']],
  ])("is the command's after its name: %s", async (argv) => {
    const { exitCode, stdout, stderr } = await ops.run(argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain("required option '--org <name>' not specified");
  });

  test.each([
    [['--version']],
    [['-V']],
    [['--version', 'retire-release']],
    [['-V', 'retire-release']],
    [['--aws', '--version', 'retire-release', '--version', '9.9.9']],
    [['audit', '--version']],
  ])("is the program's elsewhere: %s", async (argv) => {
    expect(await ops.run(argv)).toEqual({ exitCode: 0, stdout: '1.2.3\n', stderr: '' });
    const json = await ops.run(['--json', ...argv]);
    expect(json).toEqual({ exitCode: 0, stdout: '{"version":"1.2.3"}\n', stderr: '' });
    expect((await ops.run([...argv, '--json'])).stdout).toBe(json.stdout);
  });
});

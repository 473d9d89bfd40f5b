import { describe, expect, test } from 'vitest';
import { grammarOf } from '../../../lib/terminal/completion/grammar.ts';
import { exitCodes } from '../../../lib/terminal/exit-codes.ts';
import { client, ops } from '../../helpers/command-lines.ts';

describe.each([client, ops])('$name', ({ name, program, run }) => {
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

  test('has an example in the help of every command', async () => {
    const leaves = grammarOf(await program()).filter(({ path, commands }) => path.length > 0 && commands.length === 0);
    expect(leaves.length).toBeGreaterThan(10);
    for (const { path } of leaves) {
      const { stdout } = await run([...path, '--help']);
      const [, examples = ''] = stdout.split(/^Examples?:$/m);
      expect(examples, path.join(' ')).toContain(`${name} ${path.join(' ')}`);
    }
  });

  test('tells every exit code in its help', async () => {
    const { stdout } = await run(['--help']);
    for (const code of Object.values(exitCodes)) expect(stdout).toMatch(new RegExp(`(^|\\s{2})${code} [a-z]`, 'm'));
  });

  test('takes --quiet', async () => {
    expect((await run(['completion', 'bash', '--quiet'])).exitCode).toBe(0);
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

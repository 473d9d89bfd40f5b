import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { screenOf } from '../../helpers/screen.ts';
import { printedAs, shaped, shapes, stepsOf, Walk } from '../../helpers/walk.ts';

const fence = '```';
const runner = 'test/unit/helpers/walk.test.ts';
const page = `# A page

## First

<!-- run by ${runner} -->
${fence}sh
echo one
${fence}

${fence}text
one
${fence}

## Second

<!-- run by ${runner}: a mistake -->
${fence}sh
false
${fence}

<!-- run by test/elsewhere.test.ts -->
${fence}sh
echo two
${fence}

${fence}text
two
${fence}
`;

test('the steps of a page: those that the file runs, each with the text that follows', () => {
  expect(stepsOf('page.md', runner, page)).toEqual([
    { title: 'First, line 6', name: undefined, commands: 'echo one\n', printed: 'one\n' },
    { title: 'Second, line 17: a mistake', name: 'a mistake', commands: 'false\n', printed: '' },
  ]);
});

describe('shapes', () => {
  test.each([
    ['token', 'eyJhbGciOiJub25lIn0.e30.c2lnbmF0dXJl'],
    ['uuid', '0b5c0f4e-8a53-4d0e-9a44-0d5f3c1e7a10'],
    ['fingerprint', 'a4288285ef7b7c84b929fec1db14d3f6cb213fdf091ef1be174ae323f41eb10f'],
    ['public key', '7QvuMJT1GpRsGFCEL93SZeqdKJSzslOuMv0jrrzwKxg='],
    ['thumbprint', 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U'],
    ['time', '2026-11-22'],
    ['time', '2026-11-22 09:14'],
    ['time', '2026-11-22T09:14:05.250Z'],
    ['speed', '12.5 MiB/s'],
    ['duration', '640 ms'],
    ['duration', '3.2 s'],
    ['duration', '4 min 05 s'],
    ['duration', '2 h 10 min'],
    ['duration', '60 days'],
  ])('%s: %s', (name, example) => {
    expect(shaped(`a ${example} b`)).toBe(`a <${name}> b`);
  });

  test('port', () => {
    expect(shaped('http://localhost:40123/v1')).toBe('http://localhost:<port>/v1');
  });

  test('every shape has an example here', () => {
    expect(Object.keys(shapes).sort()).toEqual(
      ['duration', 'fingerprint', 'port', 'public key', 'speed', 'thumbprint', 'time', 'token', 'uuid'].sort(),
    );
  });

  test('other numbers, names and sizes stay as they are', () => {
    for (const text of ['3 files', '195.6 KiB', 'EGAF00000000001-sample.bam.c4gh', 'sha256', '1.2.3']) {
      expect(shaped(text)).toBe(text);
    }
  });

  test('columns may be wider by them', () => {
    expect(shaped('a   640 ms   b')).toBe(shaped('a  3.2 s  b'));
  });
});

describe('printedAs', () => {
  const lines = (...all: readonly string[]) => all.join('\n');

  test('… stands for any lines', () => {
    expect(printedAs(lines('a', '…', 'd'), lines('a', 'b', 'c', 'd'))).toBe(lines('a', '…', 'd'));
    expect(printedAs(lines('a', '…'), lines('a', 'b', 'c'))).toBe(lines('a', '…'));
  });

  test('other lines show where they are', () => {
    expect(printedAs(lines('a', '…', 'x'), lines('a', 'b'))).toBe(lines('a', 'b'));
    expect(printedAs(lines('a'), lines('a', 'b'))).toBe(lines('a', 'b'));
    expect(printedAs('', 'b')).toBe('b');
  });
});

test('a screen shows what is left after lines were drawn again', () => {
  expect(screenOf('one\r\ntwo 10 %\r\x1b[2Ktwo 20 %\r\n')).toBe('one\ntwo 20 %');
  expect(screenOf('a\r\nb\r\n\x1b[2A\x1b[Jc\r\n')).toBe('c');
  expect(screenOf('\x1b[1mbold\x1b[0m 😀\b!')).toBe('bold !');
  expect(screenOf('\x1b[?25lName: \x1b[999D\x1b[GName: me')).toBe('Name: me');
});

describe('a walk', () => {
  const asks = `process.stdin.setRawMode(true); process.stdout.write('Name: ');
    process.stdin.on('data', (b) => { const t = String(b);
      if (t.includes('\\x03')) process.exit(130);
      process.stdout.write(t.includes('\\r') ? t + '\\nhello ' + t : t);
      if (t.includes('\\r')) process.exit(3); });`;
  let walk: Walk;
  beforeAll(async () => {
    walk = await Walk.start({
      programs: { asks: [process.execPath, '-e', asks], "it's": [process.execPath, '-p', 'process.argv.slice(1)'] },
      tools: ['cat', 'sleep'],
      stands: { 'https://data-out.example.org/': 'http://localhost:4711/' },
      shows: { 'service.test': 'archive.example.org' },
    });
  });
  afterAll(() => walk.remove());

  const step = (commands: string, printed: string) => ({ title: '', name: undefined, commands, printed });

  test('runs on a terminal, with the texts of the page', async () => {
    await writeFile(walk.path('notes'), 'see http://localhost:4711/v1\n');
    await walk.follow(step('cat notes; [ -t 1 ]; echo ~\n', 'see https://data-out.example.org/v1\n/home/jane\n'));
    await walk.follow(step(`it\\'s "a b"`, "[ 'a b' ]"));
  });

  test('shows what the page shows for it', async () => {
    await walk.follow(step('echo service.test archive.example.org', 'archive.example.org archive.example.org'));
  });

  test('takes lines in any order only where that is said', async () => {
    const three = step('echo b; echo c; echo a', 'a\nb\nc');
    await walk.follow(three, { anyOrder: true });
    await expect(walk.follow(three)).rejects.toThrow(/to be/);
    await expect(walk.follow(step('echo b', 'a\nb'), { anyOrder: true })).rejects.toThrow(/to be/);
  });

  test('runs a line before the commands, for these alone', async () => {
    expect(await walk.run('ulimit -f', { prelude: 'ulimit -f 17' })).toMatchObject({ printed: '17' });
    expect(await walk.run('ulimit -f')).not.toMatchObject({ printed: '17' });
  });

  test('has only the programs that it names, and no variables', async () => {
    expect(await walk.run('ls')).toMatchObject({
      printed: expect.stringContaining('ls: command not found'),
      exitCode: 127,
    });
    expect((await walk.run('export -p')).printed).not.toContain('VITEST');
  });

  test('keeps exported variables and the folder, but not those of one block', async () => {
    await walk.run('export KEPT="a b"; cd /');
    expect(await walk.run('echo "$KEPT $PWD $ONCE"', { env: { ONCE: "it's" } })).toMatchObject({
      printed: "a b / it's",
    });
    expect(await walk.run('export -p; cd')).not.toMatchObject({ printed: expect.stringContaining('ONCE') });
  });

  test('answers questions, and gives the exit code', async () => {
    await walk.follow(step('asks', 'Name: jane\nhello jane'), { answers: [['Name:', 'jane']], exitCode: 3 });
  });

  test('types Ctrl-C, and leaves commands running', async () => {
    await walk.follow(step('asks', 'Name:'), { interrupt: 'Name:', exitCode: 130 });
    await walk.follow(step('echo ready; sleep 1000; echo never >late', 'ready'), { leaveAfter: 'ready' });
    expect(existsSync(walk.path('late'))).toBe(false);
  });

  test('says what differs', async () => {
    await expect(walk.follow(step('echo one', 'two'))).rejects.toThrow(/one/);
    await expect(walk.follow(step('echo one; exit 2', 'one'))).rejects.toThrow(/exit code 2/);
  });
});

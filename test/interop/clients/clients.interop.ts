import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Service } from '../../helpers/service.ts';
import { installed, type Recipe, recipe, recipesOf } from './recipes.ts';

const run = promisify(execFile);
const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8');
const recipes = [
  ...recipesOf(read('../../../docs/clients.md')),
  recipe('Java HttpClient', 'java', read('Download.java')),
];
const there = recipes.filter(({ tools }) => tools.every(installed));
for (const { client, tools } of recipes.filter((each) => !there.includes(each))) {
  const missing = tools.filter((tool) => !installed(tool));
  process.stdout.write(`not run: ${client}, because ${missing.join(' and ')} is not on this machine\n`);
}

const name = 'EGAF00000000001-sample.bam.c4gh';
const receipt = 'EGAD00000000001-request.delivery.jws';
const content = Buffer.alloc(3_000_000, 'crypt4gh ');
let required: Service;
let lenient: Service;
let fileId: string;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-clients-'));
  [required, lenient] = await Promise.all([
    Service.start(),
    Service.start({ environment: { ARCHIVE_CREDENTIALS: 'when-presented' } }),
  ]);
  for (const service of [required, lenient]) {
    await service.putStaged('researcher', name, content.toString());
    await service.putStaged('researcher', receipt, 'a receipt');
  }
  ({ fileId } = await required.archive('EGAD1', 'sample.txt', 100_000));
  await required.setDataset('EGAD1', 'released');
});
afterAll(async () => {
  await Promise.all([required?.stop(), lenient?.stop()]);
  await rm(folder, { recursive: true, force: true });
});

/** Runs a recipe in its own folder, and gives its output and the file that it made. */
async function follow(recipe: Recipe, service: Service): Promise<{ stdout: string; file: Buffer }> {
  const cwd = await mkdtemp(join(folder, 'run-'));
  const { proxyUrl, dataOutUrl, archiveUser } = service.connection;
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    // The engine gives the address of its S3 as 127.0.0.1.
    PROXY: (recipe.otherHost ? proxyUrl.replace('127.0.0.1', 'localhost') : proxyUrl).replace(/\/$/, ''),
    DIRECT: dataOutUrl.replace(/\/$/, ''),
    VISA: await service.visa(),
    USERNAME: archiveUser.username,
    PASSWORD: archiveUser.password,
    FILE: name,
    FILE_ID: fileId,
  };
  const script = join(cwd, recipe.file);
  await writeFile(script, recipe.text);
  const { stdout } = await run(recipe.command[0], [...recipe.command.slice(1), script], { cwd, env });
  return { stdout, file: await readFile(join(cwd, name)) };
}

test.each(there)('$client: the commands of the page', async (recipe) => {
  const { stdout, file } = await follow(recipe, recipe.lenient ? lenient : required);
  if (recipe.direct) {
    expect(file).toHaveLength(100_000);
  } else {
    expect(file.equals(content)).toBe(true);
    if (recipe.text.includes('inbox=false')) expect(stdout).toContain(name);
    expect(stdout).not.toContain(receipt);
  }
});

test.each(there.filter(({ lenient: only }) => only))('$client: 401 while passwords are required', async (recipe) => {
  await expect(follow(recipe, required)).rejects.toThrow(/401/);
});

test('the page has a recipe for each client', () => {
  expect(recipes.map(({ client }) => client)).toEqual([
    ...['curl', 'wget', 'aria2c', 'rclone', 'Python requests'],
    ...['lega-commander', 'A DRS client', 'Java HttpClient'],
  ]);
  expect(there.length).toBeGreaterThan(0);
});

import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';

// Compiling all of PostgreSQL a second time, optimised, takes half a gigabyte and seconds of a processor. Its queries are
// short: they gain nothing by it.
for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag);

/**
 * Size of PostgreSQL's own cache. The default of 128 MB is allocated at once, and the system caches the files anyway.
 */
const buffers = '8MB';
/** Every database folder has this file. */
const version = 'PG_VERSION';

/**
 * Open the embedded PostgreSQL. Making an empty database takes seconds; so the first one made on this machine is kept
 * beside the installed packages, and later ones begin as a copy of it.
 *
 * @param dataDir created if missing. A database that is not kept is also on the disk: memory would hold it
 * twice.
 */
export async function openPostgres(dataDir: string): Promise<PGlite> {
  if (!existsSync(join(dataDir, version))) {
    const image = await imageFolder();
    if (image !== undefined) await copyFolder(image, dataDir);
  }
  return await PGlite.create(dataDir);
}

/** The folder with an empty database. `undefined`: packages are installed read-only, so every start makes its own. */
async function imageFolder(): Promise<string | undefined> {
  const image = imagePath();
  if (existsSync(join(image, version))) return image;
  const unfinished = `${image}.${process.pid}`;
  try {
    mkdirSync(dirname(image), { recursive: true });
    await (await PGlite.create(unfinished)).close();
    appendFileSync(join(unfinished, 'postgresql.conf'), `\nshared_buffers = ${buffers}\n`);
    renameSync(unfinished, image);
  } catch {
    // Another process may have made it meanwhile.
    return existsSync(join(image, version)) ? image : undefined;
  }
  return image;
}

async function copyFolder(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const entries = readdirSync(from, { recursive: true, withFileTypes: true });
  const target = (entry: (typeof entries)[number]) => join(to, entry.parentPath.slice(from.length), entry.name);
  for (const entry of entries.filter((one) => one.isDirectory())) mkdirSync(target(entry), { recursive: true });
  const files = entries.filter((one) => one.isFile() && target(one) !== join(to, version));
  await Promise.all(files.map((entry) => copyFile(join(entry.parentPath, entry.name), target(entry))));
  // Last, so that an unfinished copy is not taken for a database.
  await copyFile(join(from, version), join(to, version));
}

function imagePath(): string {
  const main = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const manifest = JSON.parse(readFileSync(join(dirname(main), '../package.json'), 'utf8')) as { version: string };
  return join(dirname(main), '../../../.cache/data-out', `postgres-${manifest.version}-${buffers}`);
}

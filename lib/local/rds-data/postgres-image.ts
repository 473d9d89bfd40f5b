import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';

/**
 * Open the embedded PostgreSQL. Making an empty database takes seconds; so the first one made on this machine is kept
 * beside the installed packages, and later ones begin as a copy of it.
 *
 * @param dataDir `undefined`: memory.
 */
export async function openPostgres(dataDir: string | undefined): Promise<PGlite> {
  if (dataDir !== undefined && existsSync(join(dataDir, 'PG_VERSION'))) return PGlite.create(dataDir);
  const where = dataDir ?? 'memory://';
  const image = imagePath();
  if (existsSync(image)) {
    return PGlite.create(where, { loadDataDir: new Blob([readFileSync(image)], { type: 'application/x-tar' }) });
  }
  const postgres = await PGlite.create(where);
  await keepImage(postgres, image);
  return postgres;
}

async function keepImage(postgres: PGlite, path: string): Promise<void> {
  const image = await postgres.dumpDataDir('none');
  try {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, new Uint8Array(await image.arrayBuffer()));
    renameSync(unfinished, path);
  } catch {
    // Packages that are installed read-only: every start makes its own database.
  }
}

function imagePath(): string {
  const main = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const { version } = JSON.parse(readFileSync(join(dirname(main), '../package.json'), 'utf8')) as { version: string };
  return join(dirname(main), '../../../.cache/data-out', `postgres-${version}.tar`);
}

import { readdirSync, readFileSync } from 'node:fs';
import { type Migration, migration } from '../../lib/service/stores/rds/migrate.ts';

/** The migrations in a folder of SQL files, in order. A bundle has no such folder: `lambdas/migrate.ts` imports them. */
export function readMigrations(
  folder: URL = new URL('../../lib/service/stores/rds/migrations/', import.meta.url),
): Migration[] {
  return readdirSync(folder)
    .filter((fileName) => fileName.endsWith('.sql'))
    .map((fileName) => migration(fileName, readFileSync(new URL(fileName, folder), 'utf8')))
    .sort((a, b) => a.version - b.version);
}

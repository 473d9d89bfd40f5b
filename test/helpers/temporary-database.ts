import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, type SqlDatabase } from '../../lib/local/rds-data/database.ts';

/** An empty embedded PostgreSQL, which is gone when it is closed. */
export async function temporaryDatabase(): Promise<SqlDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-postgres-'));
  const database = await Database.open(join(folder, 'postgres'));
  return {
    run: (...call) => database.run(...call),
    begin: (...call) => database.begin(...call),
    end: (...call) => database.end(...call),
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

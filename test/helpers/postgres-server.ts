import { execFile, execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';

/** A throw-away PostgreSQL, reached through a socket in its own folder. */
export interface PostgresServer {
  /** Folder of the socket: what clients take for a host. */
  readonly host: string;
  /** Run SQL as the superuser, who needs no password. All others need theirs. */
  admin(sql: string, database?: string): Promise<void>;
  stop(): Promise<void>;
}

/** PostgreSQL refuses to run as root: the system user `nobody` runs it. */
function user(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** A server without its own database. */
export async function startPostgres(): Promise<PostgresServer> {
  const host = mkdtempSync(join(tmpdir(), 'data-out-pg-'));
  const runAs = user();
  if (runAs) chownSync(host, runAs.uid, runAs.gid);
  const data = join(host, 'data');
  const options = { ...runAs, cwd: host };
  await promisify(execFile)(
    'initdb',
    ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--locale=C', '-A', 'trust', '-N'],
    options,
  );
  writeFileSync(join(data, 'pg_hba.conf'), 'local all postgres trust\nlocal all all scram-sha-256\n');
  const settings = ['listen_addresses=', `unix_socket_directories=${host}`, 'fsync=off', 'timezone=UTC'];
  // Only the test's own ANALYZE makes statistics, and checkpoints do not slow the load of a million rows.
  settings.push('autovacuum=off', 'full_page_writes=off', 'max_wal_size=8GB', 'maintenance_work_mem=256MB');
  const server = spawn('postgres', ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  server.stderr.on('data', (text: Buffer) => {
    said += text.toString();
  });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const admin = async (sql: string, database = 'postgres') => {
    const client = new Client({ host, user: 'postgres', database });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  const stop = async () => {
    server.kill('SIGINT');
    await ended;
    rmSync(host, { recursive: true, force: true });
  };
  for (let tries = 0; ; tries += 1) {
    try {
      await admin('select 1');
      return { host, admin, stop };
    } catch (error) {
      if (tries === 100 || server.exitCode !== null) {
        await stop();
        throw new Error(`PostgreSQL did not start: ${said}`, { cause: error });
      }
      await pause(100);
    }
  }
}

/**
 * A server with the database `sda` of an owner, who has the empty tables of an ingestion pipeline, as SECURITY.md asks for.
 *
 * @throws Error when `initdb` or `postgres` is not on the machine, or the server does not start
 */
export async function startPipelinePostgres(owner: {
  readonly username: string;
  readonly password: string;
}): Promise<PostgresServer> {
  const server = await startPostgres();
  await server.admin(`create role ${owner.username} login createrole password '${owner.password}'`);
  await server.admin(`create database sda owner ${owner.username}`);
  const schema = readFileSync(new URL('../postgres/sda-schema.sql', import.meta.url), 'utf8');
  await server.admin(`set role ${owner.username}; ${schema}`, 'sda');
  return server;
}

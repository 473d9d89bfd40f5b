import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';

/** The two ends of a connection to this machine itself. */
export interface LoopbackConnection {
  /** IPv4 address and port of the client. */
  readonly clientAddress: string;
  readonly clientPort: number;
  readonly serverPort: number;
}

/**
 * The user id of the process at the client's end, from `/proc/net/tcp` and `tcp6` of Linux. A process may reach an IPv4 address
 * through a socket of IPv6.
 * @param read gives the text of such a table
 * @returns `undefined` without an open socket
 */
export async function connectionOwner(
  { clientAddress, clientPort, serverPort }: LoopbackConnection,
  read: (name: 'tcp' | 'tcp6') => Promise<string> = (name) => readFile(`/proc/net/${name}`, 'latin1'),
): Promise<number | undefined> {
  const ends = [hexEnd(clientAddress, clientPort), hexEnd('127.0.0.1', serverPort)];
  for (const name of ['tcp', 'tcp6'] as const) {
    const prefix = name === 'tcp' ? '' : mappedPrefix;
    const table = await read(name).catch(() => '');
    for (const line of table.split('\n')) {
      const [, local, remote, , , , , uid, , inode] = line.trim().split(/\s+/);
      // A socket that its process has left has no inode, and the user id 0.
      if (local === prefix + ends[0] && remote === prefix + ends[1] && inode !== '0') return Number(uid);
    }
  }
  return undefined;
}

/** The kernel prints each 32 bits of an address as a number of this machine. */
const word = (bytes: readonly number[]) =>
  Buffer.from(endianness() === 'LE' ? bytes.toReversed() : bytes)
    .toString('hex')
    .toUpperCase();

/** `::ffff:0:0/96`, in which IPv6 writes the addresses of IPv4 (RFC 4291 § 2.5.5.2). */
const mappedPrefix = [word([0, 0, 0, 0]), word([0, 0, 0, 0]), word([0, 0, 0xff, 0xff])].join('');

function hexEnd(address: string, port: number): string {
  return `${word(address.split('.').map(Number))}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

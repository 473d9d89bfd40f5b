import { expect, test } from 'vitest';
import { connectionOwner } from '../../../../lib/client/serve/connection-owner.ts';

/** Tables as Linux prints them on a little-endian machine (proc_net_tcp in its documentation). */
const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                             ';
const row = (ends: string, uid: number, inode = 31_337) =>
  `   3: ${ends} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1  `;
const server = '0100007F:1F90';
const client = '0100007F:C001';
const mapped = '0000000000000000FFFF0000';
const ends = { clientAddress: '127.0.0.1', clientPort: 0xc001, serverPort: 8080 };

const owner = (tcp: readonly string[], tcp6: readonly string[] = [], connection = ends) =>
  connectionOwner(connection, async (name) => [head, ...(name === 'tcp' ? tcp : tcp6), ''].join('\n'));

test('is the user of the socket at the end of the client, not of the server', async () => {
  const rows = [row('00000000:1F90 00000000:0000', 7), row(`${server} ${client}`, 7), row(`${client} ${server}`, 1000)];
  expect(await owner(rows)).toBe(1000);
});

test('is found where the client uses a socket of IPv6, as Java does', async () => {
  expect(await owner([], [row(`${mapped}${client} ${mapped}${server}`, 1001)])).toBe(1001);
});

test('is that of the very address: a port may be used on each address of the loopback', async () => {
  const rows = [row(`0200007F:C001 ${server}`, 1002), row(`${client} ${server}`, 1000)];
  expect(await owner(rows)).toBe(1000);
  expect(await owner(rows, [], { ...ends, clientAddress: '127.0.0.2' })).toBe(1002);
});

test.each([
  ['a socket that its process has left, which the kernel gives to user 0', [row(`${client} ${server}`, 0, 0)]],
  ['another port', [row(`0100007F:C002 ${server}`, 1000)]],
  ['another server', [row(`${client} 0100007F:1F91`, 1000)]],
  ['an empty table', []],
])('is not known from %s', async (_, rows) => {
  expect(await owner(rows)).toBeUndefined();
});

import { inspectPrivateKey, parsePrivateKey, parsePublicKey } from '../../lib/crypt4gh/index.ts';
import { vectorFile } from '../helpers/crypt4gh-vectors.ts';
import { mutated } from './mutations.ts';
import type { Seeded } from './seeded.ts';

const files = ['alice.sec', 'bob.sec', 'carol.sec', 'alice.pub', 'ssh_plain', 'ssh_plain.pub'].map((name) =>
  vectorFile(`keys/${name}`),
);
/** PEM taken apart, so that what changes is what stands in it. */
const blocks = files
  .map((file) => file.toString().trim().split('\n'))
  .filter((lines) => lines[0]?.startsWith('-----BEGIN') === true)
  .map((lines) => ({ begin: lines[0], bytes: Buffer.from(lines.slice(1, -1).join(''), 'base64'), end: lines.at(-1) }));
const labels = ['CRYPT4GH PRIVATE KEY', 'CRYPT4GH PUBLIC KEY', 'PRIVATE KEY', 'PUBLIC KEY', 'OPENSSH PRIVATE KEY'];

function keyFile(random: Seeded): Buffer {
  if (random.oneIn(3)) return mutated(random, random.pick(files), 4);
  const { begin, bytes, end } = random.pick(blocks);
  const content = mutated(random, bytes, 4).toString('base64');
  const label = random.pick(labels);
  const [first, last] = random.oneIn(4) ? [`-----BEGIN ${label}-----`, `-----END ${label}-----`] : [begin, end];
  return Buffer.from(`${first}\n${content}\n${last}\n`);
}

/** One case: reads a key file as private, public and as public in base64. No passphrase: its derivation is slow. */
export async function keyFileCase(random: Seeded): Promise<void> {
  const file = keyFile(random);
  const read = random.pick([
    () => parsePrivateKey(file),
    () => void inspectPrivateKey(file),
    () => parsePublicKey(file),
    () => parsePublicKey(file.toString('base64')),
  ]);
  const key = await read();
  if (key !== undefined && key.length !== 32) throw new Error('a key that is not 32 bytes long');
}

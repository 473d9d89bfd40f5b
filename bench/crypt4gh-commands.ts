import { execFile } from 'node:child_process';
import { access, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildPackage } from '../bin/build/package.ts';
import { formatPrivateKey, formatPublicKey, generateKeyPair } from '../lib/crypt4gh/index.ts';
import { figure, type Report, ratio, verdict } from './report.ts';

const rounds = 5;
const mib = 2 ** 20;

/** A program with its commands as lines for a shell. The folder has `plain`, `container`, `key` and `public`. */
interface Program {
  readonly name: string;
  /** Standard input to standard output; empty if it has no such command. */
  readonly decrypt: string;
  readonly encrypt: string;
  /** `container` to `output`. */
  readonly decryptFile: string;
  /** `plain` to `output`. */
  readonly encryptFile: string;
}

interface Row {
  readonly name: string;
  /** The line for a shell. */
  readonly line: (program: Program) => string;
  readonly against: readonly { readonly name: string; readonly goal: number }[];
}

/** MiB of plaintext that pass between two pipes: the start counts for less and less. */
const pipeSizes = [128, 512, 2048] as const;
const python = 'Python';
/** The first processor alone. */
const one = 'taskset -c 0';
const ofFiles = [
  { name: python, goal: 1.5 },
  { name: 'Go', goal: 2 },
  { name: 'Rust', goal: 2 },
] as const;
const rows: readonly Row[] = [
  {
    name: 'decrypt, file to /dev/null, one processor',
    line: ({ decrypt }) => `${one} ${decrypt} < container > /dev/null`,
    against: [{ name: python, goal: 1 }],
  },
  {
    name: 'decrypt, file to /dev/null',
    line: ({ decrypt }) => `${decrypt} < container > /dev/null`,
    against: [{ name: python, goal: 1.5 }],
  },
  ...pipeSizes.flatMap((size): Row[] => {
    const piped = ({ decrypt }: Program) => `cat container-${size} | ${decrypt} | cat > /dev/null`;
    return [
      { name: `decrypt, between two pipes, ${size} MiB`, line: piped, against: [{ name: python, goal: 1 }] },
      {
        name: `the same, one processor`,
        line: (program) => `${one} sh -c '${piped(program)}'`,
        against: [{ name: python, goal: 1 }],
      },
    ];
  }),
  {
    name: 'encrypt, file to /dev/null, one processor',
    line: ({ encrypt }) => `${one} ${encrypt} < plain > /dev/null`,
    against: [{ name: python, goal: 1 }],
  },
  { name: 'decrypt, file to file', line: ({ decryptFile }) => decryptFile, against: ofFiles },
  { name: 'the same, then sync', line: (program) => synced(program, program.decryptFile), against: ofFiles },
  {
    name: 'encrypt, file to file, then sync',
    line: (program) => synced(program, program.encryptFile),
    against: [...ofFiles.slice(0, 2), { name: 'Rust', goal: 1 }],
  },
];

/** With the durability of ours. */
function synced({ name }: Program, line: string): string {
  return name === 'data-out' ? line : `${line} && sync $(ls output output-plain.c4gh 2> /dev/null)`;
}

/**
 * The command `data-out` beside the commands of other implementations.
 *
 * @param options.folder has `plain`, a file to encrypt; other files are written there.
 * @param options.python a Python that has the reference.
 * @param options.limit MiB a second of the cipher alone.
 */
export async function commands(
  report: Report,
  options: {
    readonly folder: string;
    readonly python: string | undefined;
    readonly fileMiB: number;
    readonly limit: number | undefined;
  },
): Promise<void> {
  const { folder, fileMiB, limit } = options;
  const us = await ourselves(folder);
  const { found, missing } = await others(options.python);
  if (missing.length > 0)
    report.text(`Not found, so left out: ${missing.join(', ')}. CRYPT4GH_PEERS names their folder.`);
  await run(`${us.encrypt} < plain > container`, folder);
  for (const size of pipeSizes) {
    // Once head has enough, cat finds its pipe closed.
    const repeated = `for i in $(seq ${Math.ceil(size / fileMiB)}); do cat plain; done | head -c ${size}M`;
    await run(`{ ${repeated} || true; } | ${us.encrypt} > container-${size}`, folder);
  }
  await symlink('container', join(folder, 'output.c4gh'));
  await symlink('plain', join(folder, 'output-plain'));
  const table: string[][] = [];
  for (const { name, line, against } of rows) {
    const peers = found.filter((peer) => against.some((other) => other.name === peer.name));
    const seconds = new Map<Program, number>();
    let peak = 0;
    for (let round = 0; round < rounds; round += 1) {
      for (const program of round % 2 === 0 ? [us, ...peers] : [...peers, us]) {
        const measured = await run(line(program), folder);
        seconds.set(program, Math.min(measured.seconds, seconds.get(program) ?? Number.POSITIVE_INFINITY));
        if (program === us) peak = Math.max(peak, measured.peakBytes);
        for (const made of ['output', 'output-plain.c4gh']) await rm(join(folder, made), { force: true });
      }
    }
    const ours = seconds.get(us) ?? Number.NaN;
    for (const { name: other, goal } of against) {
      const peer = peers.find((each) => each.name === other);
      const theirs = (peer && seconds.get(peer)) ?? Number.NaN;
      const share =
        limit === undefined || /pipes|the same|sync/.test(name) ? '' : `${figure((100 * fileMiB) / ours / limit)} %`;
      const compared = peer
        ? [figure(theirs), ratio(theirs, ours), `${verdict(theirs / ours >= goal)} (≥ ${goal})`]
        : ['', '', ''];
      table.push([name, figure(ours), other, ...compared, share, figure(peak / mib)]);
    }
  }
  report.text(
    `The commands, ${fileMiB} MiB where no size is named, the fastest of ${rounds} runs in turn. Ours waits for the disk; the others wait in the rows that say sync.`,
  );
  report.table(['', 'seconds', 'beside', 'seconds', 'ratio', 'goal', 'of the cipher alone', 'peak MiB'], table);
}

/** The client as it is installed. Its peak memory goes to the file `peak`. */
async function ourselves(folder: string): Promise<Program> {
  await buildPackage(join(folder, 'package'));
  const pair = generateKeyPair();
  await writeFile(join(folder, 'key'), await formatPrivateKey(pair.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'public'), formatPublicKey(pair.publicKey));
  await writeFile(
    join(folder, 'peak.cjs'),
    // By `require`, because the loader for `import` would start for this alone.
    `process.on('exit', () => require('node:fs').writeFileSync('peak', String(process.resourceUsage().maxRSS * 1024)));`,
  );
  const program = `${process.execPath} --require ./peak.cjs package/bin/data-out.js --quiet`;
  return {
    name: 'data-out',
    decrypt: `${program} decrypt --key key -`,
    encrypt: `${program} encrypt -r public -`,
    decryptFile: `${program} decrypt --key key -o output container`,
    encryptFile: `${program} encrypt -r public -o output plain`,
  };
}

async function others(pythonPath: string | undefined) {
  const folder = process.env.CRYPT4GH_PEERS ?? '';
  const reference = pythonPath === undefined ? '' : join(dirname(pythonPath), 'crypt4gh');
  const [go, rust] = [join(folder, 'crypt4gh-go'), join(folder, 'crypt4gh')];
  const known = [
    {
      path: reference,
      name: python,
      decrypt: `${reference} decrypt --sk key`,
      encrypt: `${reference} encrypt --sk key --recipient_pk public`,
      decryptFile: `${reference} decrypt --sk key < container > output`,
      encryptFile: `${reference} encrypt --sk key --recipient_pk public < plain > output`,
    },
    // It names the output by its input.
    {
      path: go,
      name: 'Go',
      decrypt: '',
      encrypt: '',
      decryptFile: `${go} decrypt -f output.c4gh -s key`,
      encryptFile: `${go} encrypt -f output-plain -s key -p public`,
    },
    {
      path: rust,
      name: 'Rust',
      decrypt: `${rust} decrypt --sk key`,
      encrypt: '',
      decryptFile: `C4GH_PASSPHRASE= ${rust} decrypt --sk key < container > output`,
      encryptFile: `C4GH_PASSPHRASE= ${rust} encrypt --sk key --recipient_pk public < plain > output`,
    },
  ];
  const there = await Promise.all(
    known.map(({ path }) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return {
    found: known.filter((_, index) => there[index]),
    missing: known.filter((_, index) => !there[index]).map(({ name }) => name),
  };
}

/** @throws Error if the line fails */
async function run(line: string, folder: string): Promise<{ readonly seconds: number; readonly peakBytes: number }> {
  const began = performance.now();
  await promisify(execFile)('bash', ['-c', `set -o pipefail; ${line}`], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
  });
  const seconds = (performance.now() - began) / 1000;
  return { seconds, peakBytes: Number(await readFile(join(folder, 'peak'), 'utf8')) };
}

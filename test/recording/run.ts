import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isReceiptName } from '../../lib/contract/delivery.ts';
import { parsePublicKey } from '../../lib/crypt4gh/index.ts';
import { blocksOf } from '../helpers/pages.ts';
import { Service, until } from '../helpers/service.ts';
import { Walk, type WalkChoices } from '../helpers/walk.ts';

/** A command, and what the terminal shows of it. */
export interface Shot {
  readonly command: string;
  readonly printed: string;
}

const runner = 'test/resilience/recording.resilience.ts';

/** The researcher's commands of README.md, without their comments. */
export function recordedCommands(): readonly string[] {
  const block = blocksOf('README.md').find(({ comment }) => comment === `run by ${runner}`);
  const lines = block?.text.trim().split('\n') ?? [];
  return lines.map((line) => line.replace(/ +#.*$/, ''));
}

const dataset = 'EGAD00000000001';
const mebibyte = 1024 * 1024;

/** Runs the researcher's commands, from setup to a decrypted file, on its own engine. */
export async function recordedRun(): Promise<readonly Shot[]> {
  const service = await Service.start();
  let walk: Walk | undefined;
  try {
    await service.archive(dataset, 'study/sample.bam', 48 * mebibyte, 'EGAF00000000001');
    await service.archive(dataset, 'study/sample.vcf.gz', 3 * mebibyte, 'EGAF00000000002');
    await service.setDataset(dataset, 'released');
    const { username, password } = await service.addArchiveUser('jane', 'correct horse battery staple');
    const { proxyUrl, issuer } = service.connection;
    const address = 'https://data-out.example.org/v1/';
    walk = await Walk.start({
      programs: { 'data-out': [process.execPath, join(import.meta.dirname, '../../bin/data-out.ts')] },
      stands: {
        [address]: `${proxyUrl.replace(/\/$/, '')}/`,
        'data-out.example.org': new URL(proxyUrl).host,
        'https://issuer.example.org/': issuer.iss,
      },
    });
    const week = Math.floor(Date.now() / 1000) + 7 * 86_400;
    const visa = await service.visa({ subject: 'jane', datasetId: dataset, claims: { exp: week } });
    await writeFile(walk.path('visa.jwt'), visa, { mode: 0o600 });
    const passphrase = 'an example of a passphrase';
    const answers: Readonly<Record<string, WalkChoices['answers']>> = {
      setup: [
        ['Address', address],
        ['your visa', 'visa.jwt'],
        ['User name', username],
        ['Password', password],
        ['private key', ''],
        ['Name of the new key', ''],
        ['New passphrase', passphrase],
        ['again', passphrase],
      ],
      decrypt: [['Passphrase', passphrase]],
    };
    const shots: Shot[] = [];
    for (const command of recordedCommands()) {
      const [, name = ''] = command.split(' ');
      const { printed, exitCode } = await walk.run(`${command}\n`, { answers: answers[name] ?? [] });
      if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${printed}`);
      shots.push({ command, printed: withoutChecks(printed) });
      if (name === 'setup') await deliver(service, visa, await walk.file('me.pub.pem'));
    }
    return shots;
  } finally {
    await walk?.remove();
    await service.stop();
  }
}

/** The picture is short without the checks that passed, or that one machine skips. */
function withoutChecks(printed: string): string {
  return printed.replace(/(?:^(?:ok|skipped) .*\n)+/m, '…\n');
}

/** What the administrator does in between. Waits until the delivery is complete. */
async function deliver(service: Service, visa: string, publicKey: Buffer): Promise<void> {
  await service.exported({ id: dataset, visa, publicKey: parsePublicKey(publicKey) });
  const receipt = async () => (await service.listAll(visa)).find(({ fileName }) => isReceiptName(fileName));
  await until(receipt, 'the delivery receipt');
}

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { assembly } from '../helpers/assembly.ts';
import { Service } from '../helpers/service.ts';

/** One grant of the template is missing: the engine breaks where AWS would. */
interface Declaration {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test may change all of it.
  readonly Properties: any;
}
type Stacks = Readonly<
  Record<'DataOutStorage' | 'DataOutService', { readonly Resources: Record<string, Declaration> }>
>;

const folders: string[] = [];
let service: Service | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Start the service with changed templates. */
async function startWith(change: (stacks: Stacks) => void): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'data-out-missing-'));
  folders.push(folder);
  cpSync(await assembly(), folder, { recursive: true });
  const path = (name: string) => join(folder, `${name}.template.json`);
  const read = (name: string) => JSON.parse(readFileSync(path(name), 'utf8'));
  const stacks: Stacks = { DataOutStorage: read('DataOutStorage'), DataOutService: read('DataOutService') };
  change(stacks);
  for (const [name, template] of Object.entries(stacks)) writeFileSync(path(name), JSON.stringify(template));
  service = await Service.start({ assemblyDir: folder });
  return service;
}

/** Take an action out of the role of a function. */
const without = (functionId: string, action: string) => (stacks: Stacks) => {
  const policies = Object.entries(stacks.DataOutService.Resources).filter(
    ([id, { Type }]) => Type === 'AWS::IAM::Policy' && id.startsWith(`Functions${functionId}Role`),
  );
  expect(policies).toHaveLength(1);
  for (const [, { Properties }] of policies) {
    const { PolicyDocument: document } = Properties;
    const before = JSON.stringify(document);
    document.Statement = document.Statement.map((statement: { Action: string | string[] }) => ({
      ...statement,
      Action: [statement.Action].flat().filter((one) => one !== action),
    })).filter(({ Action }: { Action: string[] }) => Action.length > 0);
    expect(JSON.stringify(document)).not.toBe(before);
  }
};

test('nothing starts if Lambda may not poll a queue', async () => {
  const message = 'the role of stage-file lacks sqs:ReceiveMessage';
  await expect(startWith(without('StageFile', 'sqs:ReceiveMessage'))).rejects.toThrow(message);
});

test('a caller gets an error of the service, and the log says what is missing', async () => {
  const started = await startWith((stacks) => {
    // Of the authorizer: the key of the secret through which it asks the database.
    without('AuthorizeOutbox', 'kms:Decrypt')(stacks);
    const { Resources } = stacks.DataOutStorage;
    const [key] = Object.entries(Resources).filter(
      ([id, { Type }]) => Type === 'AWS::KMS::Key' && id.startsWith('ExportRequestsKey'),
    );
    const [statement] = key?.[1].Properties.KeyPolicy.Statement ?? [];
    // Lambda may poll the queue with its key, and nothing may be sent.
    statement.Action = 'kms:Decrypt';
  });
  const visaToken = await started.visa();
  expect((await started.get('files?inbox=false', visaToken)).status).toBe(503);
  const userPublicKey = formatPublicKey(generateKeyPair().publicKey);
  expect((await started.export({ id: 'EGAD1', visaToken, userPublicKey })).status).toBe(503);
  const said = started.logs.map(({ line }) => line).join('\n');
  expect(said).toMatch(/SecretsErrorException|Access to KMS is not allowed/);
  expect(said).toContain('KmsAccessDenied');
});

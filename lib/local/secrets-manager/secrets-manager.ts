import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type BufferedService, type JsonObject, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import type { Login } from '../rds-data/database-login.ts';
import type { Deployment } from '../template/deployment.ts';
import { record } from '../template/template.ts';

/** Longest value of a secret, in bytes. */
const longestSecret = 65_536;

interface Version {
  readonly versionId: string;
  readonly value: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** The secrets of the template, by ARN. They are kept in a file if one is named. */
export class Secrets {
  readonly #versions: Map<string, Version>;
  readonly #file: string | undefined;
  readonly #now: () => Date;

  constructor(deployment: Deployment, file: string | undefined, now: () => Date) {
    this.#file = file;
    this.#now = now;
    const kept = file && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Version>) : {};
    this.#versions = new Map(Object.entries(kept));
    for (const resource of deployment.resources('AWS::SecretsManager::Secret')) {
      if (this.#versions.has(resource.id)) continue;
      const literal = resource.property('SecretString');
      const value =
        literal === undefined ? generate(record(resource.property('GenerateSecretString'))) : String(literal);
      this.put(resource.id, value);
    }
    for (const resource of deployment.resources('AWS::RDS::DBCluster')) {
      if (resource.property('ManageMasterUserPassword') !== true) continue;
      const arn = resource.attribute('MasterUserSecret.SecretArn');
      const username = String(resource.property('MasterUsername') ?? 'postgres');
      if (!this.#versions.has(arn)) this.put(arn, JSON.stringify({ username, password: password() }));
    }
  }

  /** @throws AwsError ResourceNotFoundException. */
  get(id: string): Version & { readonly arn: string } {
    const arn = this.#versions.has(id) ? id : [...this.#versions.keys()].find((key) => nameOf(key) === id);
    const version = this.#versions.get(arn ?? '');
    if (!arn || !version) {
      throw new AwsError(400, 'ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    }
    return { ...version, arn };
  }

  /** Name and password of a database role. `undefined`: there is no such secret, or it holds no login. */
  login(arn: string): Login | undefined {
    const value = this.#versions.get(arn)?.value;
    if (value === undefined) return undefined;
    try {
      const { username, password } = record(JSON.parse(value));
      return typeof username === 'string' && typeof password === 'string' ? { username, password } : undefined;
    } catch {
      return undefined;
    }
  }

  put(arn: string, value: string): Version {
    const version = { versionId: randomUUID(), value, createdAt: this.#now().toISOString() };
    this.#versions.set(arn, version);
    if (this.#file) writeFileSync(this.#file, JSON.stringify(Object.fromEntries(this.#versions)), { mode: 0o600 });
    return version;
  }
}

/** Secrets Manager, as far as this service uses it. */
export function secretsManager(secrets: Secrets): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'secretsmanager');
      const input = parseJson(body);
      const resource = secrets.get(String(input.SecretId)).arn;
      return { action, input, permissions: [{ action: `secretsmanager:${action}`, resource }] };
    },
    async handle(action, input) {
      return {
        status: 200,
        headers: { 'content-type': 'application/x-amz-json-1.1' },
        body: JSON.stringify(perform(secrets, action, input)),
      };
    },
  };
}

function perform(secrets: Secrets, action: string, input: JsonObject): JsonObject {
  const { arn, value, versionId, createdAt } = secrets.get(String(input.SecretId));
  const CreatedDate = Date.parse(createdAt) / 1000;
  switch (action) {
    case 'GetSecretValue':
      return {
        ARN: arn,
        Name: nameOf(arn),
        VersionId: versionId,
        SecretString: value,
        VersionStages: ['AWSCURRENT'],
        CreatedDate,
      };
    case 'DescribeSecret':
      return { ARN: arn, Name: nameOf(arn), CreatedDate, VersionIdsToStages: { [versionId]: ['AWSCURRENT'] } };
    case 'PutSecretValue': {
      if (typeof input.SecretString !== 'string') {
        throw new AwsError(400, 'InvalidParameterException', 'the local Secrets Manager keeps a SecretString only');
      }
      if (Buffer.byteLength(input.SecretString) > longestSecret) {
        throw new AwsError(400, 'ValidationException', `secretString has at most ${longestSecret} bytes`);
      }
      const version = secrets.put(arn, input.SecretString);
      return { ARN: arn, Name: nameOf(arn), VersionId: version.versionId, VersionStages: ['AWSCURRENT'] };
    }
    default:
      throw new AwsError(400, 'UnknownOperationException', `${action} is not known to the local Secrets Manager`);
  }
}

function generate(options: JsonObject): string {
  const { SecretStringTemplate: template, GenerateStringKey: key } = options;
  if (template === undefined || key === undefined) return password();
  return JSON.stringify({ ...(JSON.parse(String(template)) as JsonObject), [String(key)]: password() });
}

function password(): string {
  return randomBytes(24).toString('base64url');
}

/** Name of a secret, without the six characters that end its ARN. */
function nameOf(arn: string): string {
  return arn
    .split(':')
    .slice(6)
    .join(':')
    .replace(/-[^-]{6}$/, '');
}

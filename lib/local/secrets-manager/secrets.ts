import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { AwsError } from '../endpoint/errors.ts';
import type { Login } from '../rds-data/database-login.ts';
import type { Deployment } from '../template/deployment.ts';
import { record } from '../template/template.ts';

/** A version of a secret. */
export interface Version {
  readonly versionId: string;
  readonly value: string;
  /** A version that loses its last stage is gone. */
  readonly stages: readonly string[];
}

/** The secrets of the template, by ARN. They are kept in a file if one is named. */
export class Secrets {
  readonly #secrets: Map<string, readonly Version[]>;
  readonly #file: string | undefined;

  constructor(deployment: Deployment, file: string | undefined) {
    this.#file = file;
    this.#secrets = new Map(
      file && existsSync(file)
        ? Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Version[]>)
        : [],
    );
    for (const resource of deployment.resources('AWS::SecretsManager::Secret')) {
      if (this.#secrets.has(resource.id)) continue;
      const literal = resource.property('SecretString');
      const value =
        literal === undefined ? generate(record(resource.property('GenerateSecretString'))) : String(literal);
      this.put(resource.id, value);
    }
    for (const resource of deployment.resources('AWS::RDS::DBCluster')) {
      if (resource.property('ManageMasterUserPassword') !== true) continue;
      const arn = resource.attribute('MasterUserSecret.SecretArn');
      const username = String(resource.property('MasterUsername') ?? 'postgres');
      if (!this.#secrets.has(arn)) this.put(arn, JSON.stringify({ username, password: password() }));
    }
  }

  /** All versions of a secret. */
  versions(arn: string): readonly Version[] {
    return this.#secrets.get(arn) ?? [];
  }

  /** The version with a stage. */
  staged(arn: string, stage: string): Version | undefined {
    return this.versions(arn).find(({ stages }) => stages.includes(stage));
  }

  /** The current version. @throws AwsError ResourceNotFoundException, also for a secret that does not exist */
  get(arn: string): Version {
    const version = this.staged(arn, 'AWSCURRENT');
    if (version === undefined) throw notFound('the specified secret value for staging label: AWSCURRENT');
    return version;
  }

  /** Name and password of a database role. `undefined`: there is no such secret, or it holds no login. */
  login(arn: string): Login | undefined {
    const value = this.staged(arn, 'AWSCURRENT')?.value;
    if (value === undefined) return undefined;
    try {
      const { username, password } = record(JSON.parse(value));
      return typeof username === 'string' && typeof password === 'string' ? { username, password } : undefined;
    } catch {
      return undefined;
    }
  }

  /** `PutSecretValue`: add a version. */
  put(
    arn: string,
    value: string,
    versionId: string = randomUUID(),
    stages: readonly string[] = ['AWSCURRENT'],
  ): Version {
    const existing = this.versions(arn).find(hasId(versionId));
    if (existing) return existing;
    const version: Version = { versionId, value, stages: [] };
    const move = (versions: readonly Version[], stage: string) => moved(versions, stage, versionId);
    this.#keep(arn, stages.reduce(move, [...this.versions(arn), version]));
    return this.versions(arn).find(hasId(versionId)) ?? version;
  }

  /** `UpdateSecretVersionStage`. @throws AwsError */
  move(arn: string, stage: string, from: string | undefined, to: string | undefined): void {
    const holder = this.staged(arn, stage)?.versionId;
    if (to !== undefined && !this.versions(arn).some(hasId(to))) throw notFound(`the specified secret version: ${to}`);
    if (to === undefined && (from === undefined || stage === 'AWSCURRENT')) {
      throw invalid(`You can only move staging label ${stage} to a version, or remove it from one.`);
    }
    if (from !== holder && holder !== to) {
      throw invalid(`Staging label ${stage} is attached to version ${holder}, which RemoveFromVersionId must name.`);
    }
    this.#keep(arn, moved(this.versions(arn), stage, to));
  }

  #keep(arn: string, versions: readonly Version[]): void {
    this.#secrets.set(
      arn,
      versions.filter(({ stages }) => stages.length > 0),
    );
    if (this.#file) writeFileSync(this.#file, JSON.stringify(Object.fromEntries(this.#secrets)), { mode: 0o600 });
  }
}

/** The versions with a stage at another one. Secrets Manager gives `AWSPREVIOUS` to the version that `AWSCURRENT` leaves. */
function moved(versions: readonly Version[], stage: string, to: string | undefined): readonly Version[] {
  const before = versions.find(({ stages }) => stages.includes(stage))?.versionId;
  if (before === to) return versions;
  const after = versions.map((version) => {
    const stages = version.stages.filter((each) => each !== stage);
    return { ...version, stages: version.versionId === to ? [...stages, stage] : stages };
  });
  return stage === 'AWSCURRENT' && before !== undefined ? moved(after, 'AWSPREVIOUS', before) : after;
}

function generate(options: Readonly<Record<string, unknown>>): string {
  const { SecretStringTemplate: template, GenerateStringKey: key } = options;
  if (template === undefined || key === undefined) return password();
  return JSON.stringify({ ...record(JSON.parse(String(template))), [String(key)]: password() });
}

function password(): string {
  return randomBytes(24).toString('base64url');
}

const hasId = (versionId: string) => (version: Version) => version.versionId === versionId;
const notFound = (what: string) => new AwsError(400, 'ResourceNotFoundException', `Secrets Manager can't find ${what}`);
const invalid = (message: string) => new AwsError(400, 'InvalidParameterException', message);

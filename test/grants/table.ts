import type { Origin } from '../../lib/local/iam/access.ts';
import type { Deployment } from '../../lib/local/template/deployment.ts';
import { record } from '../../lib/local/template/template.ts';
import { type Grant, otherBucket } from '../helpers/function-roles.ts';

/** What the table says of a grant that the function's own code does not use. */
const marks: Readonly<Record<Origin, string>> = { code: '', platform: '°', url: '†' };

interface Row {
  readonly name: string;
  readonly resource: string;
  readonly condition: string;
  readonly setting: string;
  /** `service:Action`, with a mark. */
  readonly actions: readonly string[];
}

/**
 * The text of test/grants/grants.tsv: a row for each function, resource and condition. Rows that all functions have by default come
 * first, once.
 *
 * @param originsOf who used a grant in a run. @default - no action is marked
 */
export function grantsTable(
  grants: readonly Grant[],
  deployment: Deployment,
  originsOf: (grant: Grant) => readonly Origin[] = () => ['code'],
): string {
  const show = resourceNames(deployment);
  const mark = (grant: Grant) => {
    const origins = originsOf(grant);
    return origins.includes('code') ? '' : origins.map((origin) => marks[origin]).join('');
  };
  const rows = [...Map.groupBy(grants, (grant) => keyOf(grant, show)).values()].map((group): Row => {
    const [first] = group as [Grant];
    const sorted = group.toSorted((one, other) => compare(one.statement.action, other.statement.action));
    return {
      ...{ name: first.name, resource: show(first), condition: conditionText(first.statement.condition) },
      ...{ setting: first.setting ?? '', actions: sorted.map((grant) => `${grant.statement.action}${mark(grant)}`) },
    };
  });
  const byDefault = new Set(rows.filter(({ setting }) => setting === '').map(({ name }) => name));
  const lines = [...Map.groupBy(rows, (row) => unmarked(cells(row).join('\t'))).values()].flatMap((same) => {
    const shown = same.length === byDefault.size ? same.slice(0, 1).map((row) => ({ ...row, name: 'each' })) : same;
    return shown.map((row) => ({ row, text: [row.name, ...cells(row)].join('\t') }));
  });
  const place = ({ row, text }: (typeof lines)[number]) => `${row.name === 'each' ? 0 : 1}${unmarked(text)}`;
  const sorted = lines.toSorted((one, other) => compare(place(one), place(other))).map(({ text }) => text);
  return [['function', 'on', 'may', 'if', 'only with'].join('\t'), ...sorted, ''].join('\n');
}

/** A table without the marks, which only a run can tell. */
export function unmarked(table: string): string {
  return table.replaceAll(/[°†]/g, '');
}

/** By code units, on every machine the same. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function keyOf({ name, statement, setting = '' }: Grant, show: (grant: Grant) => string): string {
  const shown = show({ name, statement } as Grant);
  return [name, shown, conditionText(statement.condition), setting].join('\n');
}

function cells({ resource, actions, condition, setting }: Row): string[] {
  // The service once, then its actions.
  const byService = Map.groupBy(actions, (action) => action.split(':')[0] ?? '');
  const may = [...byService].map(([service, all]) => `${service}: ${all.map((one) => one.split(':')[1]).join(', ')}`);
  return [resource, may.join('; '), condition, setting];
}

/** `kms:ViaService s3`; `s3:prefix <recipient>/*`. */
function conditionText(condition: string | undefined): string {
  const tests = Object.values(record(JSON.parse(condition ?? '{}'))).flatMap((test) => Object.entries(record(test)));
  return tests
    .map(([key, values]) => {
      const shown = [values]
        .flat()
        .map((value) => readable(String(value).replace(/\.[a-z0-9-]+\.amazonaws\.com$/, '')));
      return `${key} ${shown.join(' or ')}`;
    })
    .join(', ');
}

/** Keys of recipients begin with the 64 characters of a hash. */
function readable(pattern: string): string {
  return pattern.replace('?'.repeat(64), '<recipient>');
}

/** Names resources by their constructs. */
function resourceNames(deployment: Deployment): (grant: Grant) => string {
  const names = new Map<string, string>([
    ['*', 'everything'],
    [`arn:aws:s3:::${otherBucket.bucketName}`, 'each other archive bucket'],
    [otherBucket.keyArn, 'key of each other archive bucket'],
  ]);
  for (const type of ['S3::Bucket', 'SQS::Queue', 'KMS::Key', 'Lambda::Function', 'Logs::LogGroup']) {
    for (const { path, attribute } of deployment.resources(`AWS::${type}`))
      names.set(attribute('Arn'), shortPath(path));
  }
  for (const { path, id } of deployment.resources('AWS::SecretsManager::Secret')) names.set(id, shortPath(path));
  for (const { path, attribute } of deployment.resources('AWS::RDS::DBCluster')) {
    names.set(attribute('DBClusterArn'), shortPath(path));
    names.set(attribute('MasterUserSecret.SecretArn'), `${shortPath(path)}/MasterUserSecret`);
  }
  return ({ name, statement: { resource } }) => {
    const known = [...names].find(([arn]) => resource === arn || (arn !== '*' && resource.startsWith(`${arn}/`)));
    if (!known) return resource.split(':').slice(5).join(':') || resource;
    const [arn, shown] = known;
    if (shown.endsWith(`/${name}/Logs`)) return 'its own log';
    const rest = readable(resource.slice(arn.length));
    return `${shown}${rest && ` ${rest}`}`;
  };
}

/** Without stack, and without ids that tell nothing. */
function shortPath(path: string): string {
  return path
    .split('/')
    .slice(1)
    .filter((id) => id !== 'Resource')
    .join('/');
}

import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId } from '../template/names.ts';
import { list, record, text, whereOf } from '../template/template.ts';
import { glob } from './conditions.ts';
import { parseStatement, type Statement } from './policy.ts';

/** Whom a statement of a resource's policy is about: every principal, or those of these ARNs. */
type Principals = '*' | readonly string[];

/** A statement of a resource's own policy. */
export interface AttachedStatement extends Statement {
  readonly principals: Principals;
}

const accountRoot = `arn:aws:iam::${accountId}:root`;
/** KMS developer guide, default key policy: the account's own policies decide. */
const defaultKeyPolicy = {
  Statement: { Effect: 'Allow', Principal: { AWS: accountRoot }, Action: 'kms:*', Resource: '*' },
};

/** The policies of the template's buckets, queues and keys. */
export class ResourcePolicies {
  readonly #attached: readonly { readonly target: RegExp; readonly statements: readonly AttachedStatement[] }[];

  /** @throws UnsupportedTemplateError for a policy that would be evaluated wrongly here */
  constructor(deployment: Deployment) {
    const queueArn = (url: unknown) =>
      deployment
        .resources('AWS::SQS::Queue')
        .find(({ id }) => id === url)
        ?.attribute('Arn');
    const read = (type: string, property: string, targets: (resource: ReturnType<typeof all>[number]) => unknown[]) =>
      all(type).flatMap((resource) => {
        const document = resource.property(property);
        const statements = document === undefined ? [] : parseResourcePolicy(document, whereOf(resource));
        return targets(resource).map((target) => ({ target: glob(String(target)), statements }));
      });
    const all = (type: string) => deployment.resources(type);
    this.#attached = [
      ...read('AWS::S3::BucketPolicy', 'PolicyDocument', (policy) => {
        const bucket = `arn:aws:s3:::${text(policy, 'Bucket')}`;
        return [bucket, `${bucket}/*`];
      }),
      ...read('AWS::SQS::QueuePolicy', 'PolicyDocument', (policy) => list(policy.property('Queues')).map(queueArn)),
      ...read('AWS::KMS::Key', 'KeyPolicy', (key) => [key.attribute('Arn')]),
    ];
  }

  /** The statements of the policy of a resource. A key without a policy has that of KMS. */
  of(resource: string): readonly AttachedStatement[] {
    const found = this.#attached.filter(({ target }) => target.test(resource)).flatMap(({ statements }) => statements);
    return found.length === 0 && resource.startsWith('arn:aws:kms:')
      ? parseResourcePolicy(defaultKeyPolicy, resource)
      : found;
  }
}

/**
 * Read the policy of a resource. Statements about AWS services are left out: here no service calls another in its own name,
 * but Lambda, whose permissions are their own resources.
 *
 * @throws UnsupportedTemplateError for a form that would be evaluated wrongly here
 */
export function parseResourcePolicy(document: unknown, where: string): readonly AttachedStatement[] {
  return list(record(document).Statement).flatMap((entry) => {
    const { Principal: principal } = record(entry);
    const { AWS: arns, Service: services, ...others } = principal === '*' ? { AWS: '*' } : record(principal);
    if (Object.keys(others).length > 0 || (arns === undefined && services === undefined)) {
      throw new UnsupportedTemplateError(where, 'the principal of a resource policy cannot be evaluated locally');
    }
    if (arns === undefined) return [];
    const named = list(arns).map(String);
    const principals: Principals = named.includes('*') ? '*' : named;
    return parseStatement(entry, where).map((statement) => ({ ...statement, principals }));
  });
}

/** Whether a statement is about a caller: by name, as one of the account, or not at all. */
export function relation({ principals }: AttachedStatement, callerArn: string): 'named' | 'account' | undefined {
  if (principals === '*' || principals.includes(callerArn)) return 'named';
  return principals.some((arn) => arn === accountRoot || arn === accountId) ? 'account' : undefined;
}

import { type App, Validations } from 'aws-cdk-lib';
import { NagPack } from 'cdk-nag';
import type { IConstruct } from 'constructs';
import { securityPacks } from '../../lib/infra/security/packs.ts';

export interface Acknowledgement {
  /** Id of the rule, as its pack has it. */
  readonly rule: string;
  readonly reason: string;
  /** The construct that has it, itself and its children. */
  readonly path: string;
}

/** The path of a construct, without the stage in the names of the stacks. */
function pathOf({ node }: IConstruct): string {
  return node.path.replace(/^(DataOut\w+)-[^/]+/, '$1');
}

/** Every exception from a rule of the packs that the constructs of an app have. */
export function acknowledgements(app: App): readonly Acknowledgement[] {
  return app.node
    .findAll()
    .flatMap((construct) => acknowledgedAt(construct).map((each) => ({ ...each, path: pathOf(construct) })));
}

export interface Finding {
  readonly rule: string;
  readonly path: string;
  /** Whether the pack leaves it out. */
  readonly isAccepted: boolean;
  /** Paths of the constructs with an exception for it. */
  readonly acceptedAt: readonly string[];
}

/** What the packs find in an app, with what is accepted. */
export function findings(app: App): readonly Finding[] {
  const found: Finding[] = [];
  // A pack asks this method about each finding before it reports it. No public one tells of those that are accepted.
  const pack = NagPack.prototype as unknown as { isAcknowledged(resource: IConstruct, rule: string): boolean };
  const { isAcknowledged } = pack;
  pack.isAcknowledged = function (resource, rule) {
    const isAccepted = isAcknowledged.call(this, resource, rule);
    const acceptedAt = resource.node.scopes
      .filter((scope) => acknowledgedAt(scope).some((each) => each.rule === rule))
      .map(pathOf);
    found.push({ rule, path: pathOf(resource), isAccepted, acceptedAt });
    return isAccepted;
  };
  try {
    for (const each of securityPacks(app)) each.validateScope(app);
  } finally {
    pack.isAcknowledged = isAcknowledged;
  }
  return found;
}

function acknowledgedAt(construct: IConstruct): readonly Omit<Acknowledgement, 'path'>[] {
  return (
    construct.node.metadata
      .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
      .flatMap(({ data }) => Object.entries<string>(data))
      // The CDK's own constructs accept rules of its template validation.
      .filter(([id]) => !id.startsWith('CloudFormation-Validate::'))
      // The CDK puts its own namespace before ids of packs.
      .map(([id, reason]) => ({ rule: id.replace(/^annotation::/i, ''), reason }))
  );
}

import { ArnFormat, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import type { Firewall as Limits } from '../settings.ts';
import type { ServiceApi } from './service-api.ts';

interface FirewallProps {
  readonly limits: Limits;
  readonly apis: readonly ServiceApi[];
  readonly logRetentionDays: number;
}

/** Headers with a visa or a password. A log has a word instead of their values. */
const secretHeaders = ['authorization', 'proxy-authorization', 'x-ga4gh-visa', 'cookie'];

/** Routes behind a password hash. A path has the name of the stage first, or with your own host name nothing. */
const exportPaths = '(^|/)(export|admin)(/|$)';

/**
 * A web ACL with rules on rates and no other rule: the core rule set of AWS refuses bodies over 8 KB, and a visa may be
 * longer. It keeps no sample of requests, because a sample shows every header.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { limits, apis, logRetentionDays }: FirewallProps) {
    super(scope, id);
    const visibility = (metricName: string) => ({
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: false,
      metricName,
    });
    const rule = (name: string, priority: number, limit: number, scopeDown: object = {}) => ({
      name,
      priority,
      action: { block: {} },
      visibilityConfig: visibility(name),
      statement: {
        rateBasedStatement: { limit, evaluationWindowSec: 300, aggregateKeyType: 'IP', ...scopeDown },
      },
    });
    const webAcl = new CfnWebACL(this, 'WebAcl', {
      scope: 'REGIONAL',
      description: `Rates of ${Stack.of(this).stackName}`,
      defaultAction: { allow: {} },
      visibilityConfig: visibility('Firewall'),
      rules: [
        rule('ExportRequests', 0, limits.exportRequestsPerFiveMinutes, {
          scopeDownStatement: {
            regexMatchStatement: {
              fieldToMatch: { uriPath: {} },
              regexString: exportPaths,
              // No other spelling of the path, such as `/%65xport`, must go uncounted.
              textTransformations: [
                { priority: 0, type: 'URL_DECODE' },
                { priority: 1, type: 'NORMALIZE_PATH' },
              ],
            },
          },
        }),
        rule('AllRequests', 1, limits.requestsPerFiveMinutes),
      ],
    });
    for (const api of apis) {
      new CfnWebACLAssociation(api, 'Firewall', {
        resourceArn: api.api.deploymentStage.stageArn,
        webAclArn: webAcl.attrArn,
      });
    }
    this.#logRefusals(webAcl, logRetentionDays);
  }

  /** Logs refused requests only. */
  #logRefusals(webAcl: CfnWebACL, retention: number): void {
    const stack = Stack.of(this);
    // AWS WAF writes to groups of this prefix only, and the id of the stack tells stacks apart. A group that is kept would
    // block a later firewall of this stack, so it goes with this one.
    const logGroup = new LogGroup(this, 'Log', {
      logGroupName: `aws-waf-logs-${Fn.select(2, Fn.split('/', stack.stackId))}`,
      retention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    new CfnLoggingConfiguration(this, 'Logging', {
      resourceArn: webAcl.attrArn,
      // Without the `:*` at the end of the group's own ARN.
      logDestinationConfigs: [
        stack.formatArn({
          service: 'logs',
          resource: 'log-group',
          resourceName: logGroup.logGroupName,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        }),
      ],
      loggingFilter: {
        DefaultBehavior: 'DROP',
        Filters: [
          { Behavior: 'KEEP', Requirement: 'MEETS_ANY', Conditions: [{ ActionCondition: { Action: 'BLOCK' } }] },
        ],
      },
      redactedFields: [
        ...secretHeaders.map((name) => ({ singleHeader: { Name: name } })),
        // A file's name may be there.
        { uriPath: {} },
        { queryString: {} },
      ],
    });
  }
}

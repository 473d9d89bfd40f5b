import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { RDSClient } from '@aws-sdk/client-rds';
import { describe, expect, test } from 'vitest';
import { protectStorage } from '../../../../lib/service/stores/deployment.ts';
import { httpHandler, testClient, textOf } from '../../../helpers/http-handler.ts';

const stackId = 'arn:aws:cloudformation:eu-north-1:123456789012:stack/DataOutStorage/0a1b';
const clusterArn = 'arn:aws:rds:eu-north-1:123456789012:cluster:the-cluster';

/** Protect through the SDK's own clients; a service in `refusing` answers with that error code. */
async function protect(arn: string | undefined, refusing: Readonly<Record<string, string>> = {}) {
  const asked: Record<string, string>[] = [];
  const requestHandler = httpHandler(async (request) => {
    const { Action = '', ...parameters } = Object.fromEntries(new URLSearchParams(textOf(request)));
    asked.push({ Action, ...parameters });
    const code = refusing[Action];
    const body = code
      ? `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`
      : `<${Action}Response><${Action}Result></${Action}Result></${Action}Response>`;
    return { status: code ? 403 : 200, headers: { 'content-type': 'text/xml' }, body };
  });
  const options = { ...testClient, requestHandler, maxAttempts: 1 };
  const clients = { cloudFormation: new CloudFormationClient(options), rds: new RDSClient(options) };
  const outcome = await protectStorage({ ...clients, stackId, clusterArn: arn }).catch((error: Error) => error.name);
  return { asked, outcome };
}

// The requests as the API references of CloudFormation and RDS describe them.
const stackRequest = {
  Action: 'UpdateTerminationProtection',
  Version: '2010-05-15',
  StackName: stackId,
  EnableTerminationProtection: 'true',
};
const clusterRequest = {
  Action: 'ModifyDBCluster',
  Version: '2014-10-31',
  DBClusterIdentifier: 'the-cluster',
  DeletionProtection: 'true',
};

describe('protectStorage', () => {
  test('switches on the protection of the stack and of the cluster, and nothing else', async () => {
    expect(await protect(clusterArn)).toEqual({ asked: [stackRequest, clusterRequest], outcome: undefined });
  });

  test('does not touch a cluster that the stack did not make', async () => {
    expect((await protect(undefined)).asked).toEqual([stackRequest]);
  });

  test.each(['UpdateTerminationProtection', 'ModifyDBCluster'])(
    'fails when %s is refused, by the name that says whether to try again',
    async (action) => {
      expect((await protect(clusterArn, { [action]: 'AccessDenied' })).outcome).toBe('AccessDenied');
    },
  );
});

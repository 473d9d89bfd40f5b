import type { Domain } from '../../infra/settings.ts';
import type { AwsAccount } from '../stores/account.ts';
import { type Asked, fine, type Question, review, wrong } from './outcome.ts';

/** Questions about what must be there, or have room, for single settings. */
export function prerequisites(asked: Asked): readonly Question[] {
  const { account, settings } = asked;
  const { proxy, dataOut } = settings.domains ?? {};
  return [
    ...('clusterArn' in settings.database ? [] : [databaseRole(account)]),
    ...[proxy, dataOut].flatMap((each) => (each ? [certificate(asked, each), domain(asked, each)] : [])),
  ];
}

/** RDS makes it with the first cluster, which may fail because the new role is not yet known everywhere. */
function databaseRole(account: AwsAccount): Question {
  const ask = async () =>
    (await account.hasServiceRole('AWSServiceRoleForRDS'))
      ? fine('AWSServiceRoleForRDS exists')
      : review(
          'there is no AWSServiceRoleForRDS: the first cluster of an account can fail without it',
          'Give aws iam create-service-linked-role --aws-service-name rds.amazonaws.com, and wait a minute.',
        );
  return { id: 'rds-role', check: 'service-linked role of RDS', ask };
}

function certificate({ account }: Asked, { name, certificateArn }: Domain): Question {
  const ask = async () => {
    const found = await account.certificate(certificateArn);
    if (found === undefined) return wrong(`there is no ${certificateArn}`, 'Correct certificateArn of the domain.');
    const { status, names } = found;
    if (status !== 'ISSUED') {
      const remedy = 'Validate it in AWS Certificate Manager: API Gateway takes issued ones only.';
      return wrong(`its state is ${status}`, remedy);
    }
    // A wildcard stands for one label.
    const covers = names.some((each) => each === name || each === name.replace(/^[^.]+/, '*'));
    return covers ? fine('issued') : wrong(`it is for ${names.join(', ')}`, `Request one for ${name}.`);
  };
  return { id: `certificate-${name}`, check: `the certificate of ${name}`, ask };
}

function domain({ account, isDeployed }: Asked, { name }: Domain): Question {
  const ask = async () => {
    if (!(await account.hasDomain(name))) {
      return fine('free in this account and region. Another account that has it cannot be seen');
    }
    if (await isDeployed()) return fine('in use, by these stacks if they were deployed with it');
    const remedy = 'Delete the custom domain name in API Gateway, or choose another.';
    return wrong('an API of the account has it already', remedy);
  };
  return { id: `domain-${name}`, check: `the host name ${name}`, ask };
}

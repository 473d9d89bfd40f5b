import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError, escapeXml } from '../endpoint/errors.ts';
import { actionOf, parseQuery, queryReply } from '../endpoint/query-protocol.ts';
import type { Deployment } from '../template/deployment.ts';
import { list } from '../template/template.ts';

const version = '2010-03-31';
const namespace = `http://sns.amazonaws.com/doc/${version}/`;

/**
 * SNS, as far as the tools use it: `GetTopicAttributes` and `ListSubscriptionsByTopic` on the topics of the template. Local
 * topics send nothing, so the address of a subscription never confirms it.
 */
export function sns(deployment: Pick<Deployment, 'resources'>): BufferedService {
  const attributes = (topic: string) => {
    const policy = deployment
      .resources('AWS::SNS::TopicPolicy')
      .find((each) => list(each.property('Topics')).includes(topic));
    return { TopicArn: topic, ...(policy && { Policy: JSON.stringify(policy.property('PolicyDocument')) }) };
  };
  const subscriptions = (topic: string) =>
    deployment.resources('AWS::SNS::Subscription').filter((each) => each.property('TopicArn') === topic);
  return {
    parse(_path, _headers, body) {
      const action = actionOf(body, ['GetTopicAttributes', 'ListSubscriptionsByTopic']);
      const input = parseQuery(body, action, version, ['TopicArn']);
      const resource = String(input.TopicArn);
      if (!deployment.resources('AWS::SNS::Topic').some(({ id }) => id === resource)) {
        throw new AwsError(404, 'NotFound', 'Topic does not exist');
      }
      return { action, input, permissions: [{ action: `sns:${action}`, resource }] };
    },
    async handle(action, input) {
      const topic = String(input.TopicArn);
      if (action === 'GetTopicAttributes') {
        const entries = Object.entries(attributes(topic)).map(
          ([key, value]) => `<entry><key>${key}</key><value>${escapeXml(value)}</value></entry>`,
        );
        return queryReply(action, namespace, `<Attributes>${entries.join('')}</Attributes>`);
      }
      const members = subscriptions(topic).map(
        (each) =>
          `<member><TopicArn>${escapeXml(topic)}</TopicArn><Protocol>${escapeXml(String(each.property('Protocol')))}</Protocol>` +
          `<Endpoint>${escapeXml(String(each.property('Endpoint')))}</Endpoint>` +
          '<SubscriptionArn>PendingConfirmation</SubscriptionArn></member>',
      );
      return queryReply(action, namespace, `<Subscriptions>${members.join('')}</Subscriptions>`);
    },
  };
}

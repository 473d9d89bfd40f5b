/** A CloudFormation template as text that a person can review: what its resources are, without hashes and boilerplate. */

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
// biome-ignore lint/suspicious/noExplicitAny: CloudFormation has no types, and a wrong path is a wrong text.
type Any = any;

interface Resource {
  readonly Type: string;
  readonly Properties?: Any;
  readonly DeletionPolicy?: string;
}
type Resources = Readonly<Record<string, Resource>>;
export interface TemplateJson {
  readonly Resources: Resources;
  readonly Outputs?: Readonly<Record<string, { readonly Value: Json }>>;
}

/**
 * What is in other lines already, is a hash, or is checked by its meaning: log groups in `rules.test.ts`, the dashboard in
 * `watching.test.ts`, and permissions in `security-rules.resilience.ts`.
 */
const leftOut =
  /^(ApiGateway::(Deployment|RequestValidator|Resource)|CloudWatch::Dashboard|Lambda::(Permission|Version)|Logs::LogGroup)$/;
/** `test/grants/grants.tsv` is the list of the grants; a difference between two templates shows those that change. */
const ofGrants = /^IAM::\w+ Functions/;
const longest = 170;

/** `OutboxKeyC94F1399Arn082C5CA3` → `OutboxKey` */
function short(id: string): string {
  const hashes = /([0-9A-F]{8})+([0-9a-f]{32})?(?=$|[^0-9A-F]|[A-F][a-z]).*$/;
  return id.replace(/^PublishOutput(Ref|FnGetAtt)/, '').replace(hashes, '');
}

/** A value with its intrinsic functions as `${…}`, and a policy's statements each as one sentence. */
function plain(value: Any): Any {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const [name = '', argument]: [string, Any] = Object.entries(value)[0] ?? ['', undefined];
  if (name === 'Ref') return `\${${short(argument)}}`;
  if (name === 'Fn::GetAtt') return `\${${argument.map(short).join('.')}}`;
  if (name === 'Fn::GetStackOutput') return `\${${short(argument.OutputName)}}`;
  if (name === 'Fn::Join')
    return plain(argument[1])
      .join(argument[0])
      .replace(/^arn:\$\{[^}]+\}:/, 'arn:');
  // The CDK takes ARNs apart: a part is shown as the whole.
  if (name === 'Fn::Select' || name === 'Fn::Split') return plain(argument[1]);
  if ('Statement' in value) return value.Statement.map(sentence);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

function sentence({ Effect, Action, Principal, Resource: on, Condition }: Any): string {
  const said = { to: Principal, on: on === '*' ? undefined : on, if: Condition };
  const parts = Object.entries(said).filter(([, value]) => value !== undefined);
  return [Effect, inline(Action), ...parts.map(([word, value]) => `${word} ${inline(plain(value))}`)].join(' ');
}

function inline(value: Any): string {
  if (Array.isArray(value)) return value.length === 1 ? inline(value[0]) : `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = Object.entries(value).map(([name, inner]) => `${name}: ${inline(inner)}`);
  return `{${parts.join(', ')}}`;
}

/** `path: value` for a value that is short, and otherwise for each of its parts. */
function flat(path: string, value: Any): string[] {
  const text = inline(value);
  if (text.length <= longest || typeof value !== 'object' || value === null) return [`${path}: ${text}`];
  if (Array.isArray(value)) return value.flatMap((each) => flat(path, each));
  return Object.entries(value).flatMap(([name, inner]) => flat(`${path}.${name}`, inner));
}

/** The function that API Gateway calls at an address. */
const target = (uri: string) => /\/functions\/\$\{(\w+)\.Arn\}\/(response-streaming-)?invocations$/.exec(uri)?.[1];

/** What says the same in fewer words, by type. */
const said: Readonly<Record<string, (properties: Any) => Any>> = {
  'ApiGateway::Authorizer': ({ AuthorizerUri, Name: _, RestApiId: _api, ...others }) => ({
    To: target(AuthorizerUri),
    ...others,
  }),
  'ApiGateway::GatewayResponse': ({ StatusCode, ResponseParameters, ResponseTemplates }) => {
    const { code, detail } = JSON.parse(ResponseTemplates['application/json']);
    const headers = Object.entries<string>(ResponseParameters).map(
      ([name, value]) => `${name.split('.').at(-1)} ${value}`,
    );
    return { Says: `${StatusCode ?? ''} ${code}: ${detail}`, Headers: headers };
  },
  'ApiGateway::Method': ({ AuthorizationType, AuthorizerId, Integration, RequestParameters = {} }) => {
    const { ResponseTransferMode: mode = 'BUFFERED', TimeoutInMillis: time, Uri } = Integration;
    const needs = Object.keys(RequestParameters).map((name) => `, needs ${name}`);
    return { To: `${target(Uri)}, ${mode}, ${time} ms, ${AuthorizerId ?? AuthorizationType}${needs.join('')}` };
  },
  'Lambda::Function': ({ Role: _role, LoggingConfig: { LogGroup: _, ...logging }, ...others }) => ({
    ...others,
    Logs: logging,
  }),
  'CloudWatch::Alarm': ({
    AlarmDescription,
    Threshold,
    EvaluationPeriods,
    DatapointsToAlarm = '',
    Metrics,
    ...one
  }) => {
    const shown = ({ Namespace, MetricName, Dimensions = [], Period, Statistic }: Any) =>
      `${Namespace} ${MetricName} ${Dimensions.map(({ Value }: Any) => Value).join(' ')} ${Statistic} ${Period} s`;
    const parts = Metrics?.map(({ Expression, MetricStat: { Metric, Period, Stat } = {} as Any }: Any) =>
      Expression ? Expression : shown({ ...Metric, Period, Statistic: Stat }),
    );
    const when = `>= ${Threshold} in ${DatapointsToAlarm && `${DatapointsToAlarm} of `}${EvaluationPeriods} periods`;
    return { Says: AlarmDescription.replace(/ What to do.*$/, ''), When: when, Of: parts ?? shown(one) };
  },
};

/** The lines of each resource, by its type and its name without a hash. */
function linesOf(resources: Resources): Map<string, readonly string[]> {
  const pathOf = (id: string): string => {
    const { PathPart, ParentId } = resources[id]?.Properties ?? {};
    return PathPart === undefined ? '' : `${pathOf(ParentId.Ref)}/${PathPart}`;
  };
  const found = new Map<string, readonly string[]>();
  for (const [id, { Type, Properties = {}, DeletionPolicy }] of Object.entries(resources)) {
    const type = Type.replace('AWS::', '');
    // The CDK's own function, behind triggers.
    if (leftOut.test(type) || (type === 'Lambda::Function' && id.includes('CustomResourceProvider'))) continue;
    const { Tags: _tags, Code: _code, ...given } = plain(Properties);
    const shown: Json = said[type]?.(given) ?? given;
    const lines = Object.entries(shown as object).flatMap(([name, value]) => flat(name, value));
    const { HttpMethod, RestApiId, ResourceId } = Properties;
    const name = HttpMethod ? `${short(RestApiId.Ref)} ${HttpMethod} ${pathOf(ResourceId.Ref)}` : short(id);
    const key = `${type} ${name}`;
    found.set(key, [
      ...(found.get(key) ?? []),
      ...lines,
      ...(DeletionPolicy ? [`DeletionPolicy: ${DeletionPolicy}`] : []),
    ]);
  }
  return found;
}

function outputsOf({ Outputs = {} }: TemplateJson): string[] {
  const outputs = Object.entries(Outputs).map(([name, { Value }]) => `${short(name)}: ${inline(plain(Value))}`);
  return outputs.filter((line) => !/^(\w+): \$\{\1(\.Arn)?\}$/.test(line));
}

/** The whole template. What all resources of a type have is said once. */
export function templateText(template: TemplateJson): string {
  const lines = [...linesOf(template.Resources)].filter(([key]) => !ofGrants.test(key));
  const byType = Map.groupBy(lines, ([key]) => key.split(' ')[0] ?? '');
  const parts = [...byType].sort().map(([type, all]) => {
    const first = all.length < 3 ? [] : (all[0]?.[1] ?? []);
    const common = first.filter((line) => all.every(([, others]) => others.includes(line)));
    const each = all.sort().flatMap(([key, given]) => {
      const own = given.filter((line) => !common.includes(line));
      const together = `  ${key.slice(type.length + 1)}: ${own.join('; ')}`;
      return together.length <= longest
        ? together
        : [`  ${key.slice(type.length + 1)}`, ...own.map((line) => `    ${line}`)];
    });
    return [type, ...common.map((line) => `  each ${line}`), ...each].join('\n');
  });
  return [...parts, ['Outputs', ...outputsOf(template).map((line) => `  ${line}`)].join('\n'), ''].join('\n\n');
}

/** What a template has more and less than another. */
export function differenceText(from: TemplateJson, to: TemplateJson): string {
  const before = linesOf(from.Resources).set('Outputs', outputsOf(from));
  const after = linesOf(to.Resources).set('Outputs', outputsOf(to));
  const parts = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((key) => {
    const [old = [], now = []] = [before.get(key), after.get(key)];
    if (!after.has(key)) return [`- ${key}`];
    const gone = old.filter((line) => !now.includes(line)).map((line) => `    - ${line}`);
    const come = now.filter((line) => !old.includes(line)).map((line) => `    + ${line}`);
    return gone.length + come.length === 0 ? [] : [`${before.has(key) ? ' ' : '+'} ${key}`, ...gone, ...come];
  });
  return `${parts.join('\n')}\n`;
}

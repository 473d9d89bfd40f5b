import { template as read } from './assembly.ts';

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation has no types, and a wrong path fails the assertion.
  readonly Properties: any;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly DependsOn?: readonly string[];
  readonly Metadata?: { readonly 'aws:cdk:path'?: string };
}

export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: unknown; readonly Export?: unknown }>>;
}

/** A template of the assembly with two ways to find resources. */
export async function stackTemplate(stack: 'DataOutStorage' | 'DataOutService') {
  const template = (await read(stack)) as unknown as Template;
  const entries = Object.entries(template.Resources);
  return {
    template,
    /** All resources of a type. */
    all: (type: string) => entries.filter(([, resource]) => resource.Type === type).map(([, resource]) => resource),
    /** The one resource of a construct path below the stack (without the closing `/Resource`). */
    at: (path: string) => {
      const wanted = `${stack}/${path}/Resource`;
      const found = entries.find(([, resource]) => resource.Metadata?.['aws:cdk:path'] === wanted);
      if (!found) throw new Error(`no resource ${wanted}`);
      return { id: found[0], ...found[1] };
    },
  };
}

/** A CloudFormation value as short text: logical names without their hashes, `Ref` and `GetAtt` alike. */
export function show(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[name, argument]] = Object.entries(value) as [[string, unknown]];
  if (name === 'Ref') return short(String(argument));
  if (name === 'Fn::GetAtt') return short((argument as string[])[0] ?? '');
  if (name === 'Fn::GetStackOutput') {
    return short((argument as { OutputName: string }).OutputName.replace(/^PublishOutput(Ref|FnGetAtt)/, ''));
  }
  if (name === 'Fn::Join') return (argument as [string, unknown[]])[1].map(show).join((argument as [string])[0]);
  // The CDK takes ARNs apart: a part is shown as the whole.
  if (name === 'Fn::Select' || name === 'Fn::Split') return show((argument as [unknown, unknown])[1]);
  throw new Error(`unknown intrinsic ${name}`);
}

/** `OutboxKeyC94F1399Arn082C5CA3` → `OutboxKey` */
function short(id: string): string {
  return id.replace(/[0-9A-F]{8}.*$/, '');
}

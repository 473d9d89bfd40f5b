/** A CloudFormation template as JSON, before any intrinsic function is resolved. */
export interface Template {
  readonly Resources?: Readonly<Record<string, ResourceDeclaration>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown }>>;
}

export interface ResourceDeclaration {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly Metadata?: Readonly<Record<string, unknown>>;
}

/** A resource of one stack. */
export interface Resource {
  readonly stackName: string;
  readonly logicalId: string;
  readonly type: string;
  /** Path of the construct, `Stack/Construct/Resource`; the logical id when the template has none. */
  readonly path: string;
  /** What `Ref` gives. */
  readonly id: string;
  /** What `Fn::GetAtt` gives. @throws UnsupportedTemplateError for an attribute this engine does not know. */
  attribute(name: string): string;
  /**
   * A property with its intrinsic functions resolved; `undefined` when absent. The other properties stay unresolved.
   */
  property(name: string): unknown;
}

/** Names a resource in an error: its stack and logical id. */
export function whereOf({ stackName, logicalId }: Resource): string {
  return `${stackName}/${logicalId}`;
}

/** A property that must be a string. @throws TypeError naming it. */
export function text(resource: Resource, name: string): string {
  const value = optionalText(resource, name);
  if (value === undefined) throw new TypeError(`expected ${resource.logicalId} to have a property ${name}`);
  return value;
}

export function optionalText(resource: Resource, name: string): string | undefined {
  const value = resource.property(name);
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new TypeError(`expected property ${name} of ${resource.logicalId} to be a string`);
}

/** A property that may be a number, also one in quotes. */
export function optionalNumber(resource: Resource, name: string): number | undefined {
  const value = resource.property(name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isFinite(number))
    throw new TypeError(`expected property ${name} of ${resource.logicalId} to be a number`);
  return number;
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

export function list(value: unknown): readonly unknown[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}

/** `value` with each `$ref` in it replaced by the part of `document` that it names, such as `#/components/schemas/File`. */
export function withoutReferences(value: unknown, document: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => withoutReferences(one, document));
  if ('$ref' in value) {
    const names = String(value.$ref).split('/').slice(1);
    const named = names.reduce((part, name) => (part as Record<string, unknown>)[name], document);
    return withoutReferences(named, document);
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutReferences(one, document)]));
}

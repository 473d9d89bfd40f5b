/** What an element holds: a text, other elements by name, or several contents in a row. */
export type XmlContent =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlContent[]
  | { readonly [name: string]: XmlContent };

/** Contents as XML; a member that is `undefined` is left out. A list of elements is an array of objects with one member each. */
export function xml(content: XmlContent): string {
  if (content === undefined) return '';
  if (Array.isArray(content)) return content.map(xml).join('');
  if (typeof content !== 'object') return escapeXml(String(content));
  return Object.entries(content)
    .map(([name, value]) => (value === undefined ? '' : `<${name}>${xml(value)}</${name}>`))
    .join('');
}

function escapeXml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

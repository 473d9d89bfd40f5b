import { printable } from '../../common/text.ts';

/** The element of the page with this id. @throws Error when the page has none of this kind */
export function element<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} with the id ${id}`);
  return found;
}

/** A new element with text or children. Text never becomes markup, and shows what it would hide. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.map((child) => (typeof child === 'string' ? printable(child) : child)));
  return made;
}

/** As {@link make}, if the text is another one: what the reader has selected stays selected. */
export function setText(node: Node, text: string): void {
  const shown = printable(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/** As {@link setText}, for one text a node. */
export function setTexts(nodes: readonly Node[], texts: readonly string[]): void {
  for (const [index, node] of nodes.entries()) setText(node, texts[index] ?? '');
}

/** Names and values. What has no value is left out. */
export function factList(facts: readonly (readonly [string, Node | string | null])[]): HTMLElement {
  const entries = facts.flatMap(([name, value]) =>
    value === null || value === '' ? [] : [make('dt', {}, name), make('dd', {}, value)],
  );
  return make('dl', {}, ...entries);
}

/** Shows an alert: what happened, and what to do. Without lines, none. */
export function showAlert(place: HTMLElement, ...lines: readonly string[]): void {
  // The same alert again is not read out again.
  if (place.textContent === lines.map(printable).join('')) return;
  place.replaceChildren(
    ...(lines.length === 0
      ? []
      : [make('div', { role: 'alert', class: 'notice bad' }, ...lines.map((line) => make('p', {}, line)))]),
  );
}

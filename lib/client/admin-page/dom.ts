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

/** Shows a text, or other children, unless the same text is shown already: then what the reader has selected stays selected. */
export function show(place: Element, ...children: readonly (Node | string)[]): void {
  const made = make('div', {}, ...children);
  if (place.textContent !== made.textContent) place.replaceChildren(...made.childNodes);
}

/** Names and values. What has no value is left out. */
export function factList(facts: readonly (readonly [string, Node | string | null])[]): HTMLElement {
  const shown = facts.filter((fact): fact is readonly [string, Node | string] => Boolean(fact[1]));
  return make('dl', {}, ...shown.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

/** Shows an alert: what happened, and what to do. Without lines it removes the last one. The same alert is not read out again. */
export function showAlert(place: Element, ...lines: readonly string[]): void {
  const alert = make('div', { role: 'alert', class: 'notice bad' }, ...lines.map((line) => make('p', {}, line)));
  show(place, ...(lines.length === 0 ? [] : [alert]));
}

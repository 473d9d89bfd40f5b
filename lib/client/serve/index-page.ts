import { type Folder, isFolder } from './place.ts';

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '');

/** Folders first, each by name. */
function sorted(folder: Folder): readonly (readonly [string, boolean])[] {
  const names = [...folder].map(([name, found]) => [name, isFolder(found)] as const);
  return names.sort(([one, isOne], [other, isOther]) => Number(isOther) - Number(isOne) || (one < other ? -1 : 1));
}

/** A folder as a page of links, relative to it; `rclone` and `wget` also read it. @param path of the folder, without the token */
export function indexPage(path: readonly string[], folder: Folder): string {
  const title = escaped(`/${path.join('/')}`);
  const items = sorted(folder).map(([name, isInner]) => {
    const end = isInner ? '/' : '';
    return `<li><a href="${escaped(`./${encodeURIComponent(name)}${end}`)}">${escaped(name)}${end}</a></li>`;
  });
  const up = path.length > 0 ? ['<li><a href="../">../</a></li>'] : [];
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>`,
    `<body><h1>${title}</h1>`,
    '<ul>',
    ...up,
    ...items,
    '</ul>',
    '</body></html>',
    '',
  ].join('\n');
}

/** The same as JSON. */
export function indexJson(path: readonly string[], folder: Folder): string {
  const namesOf = (wanted: boolean) => sorted(folder).flatMap(([name, isInner]) => (isInner === wanted ? [name] : []));
  const [folders, files] = [namesOf(true), namesOf(false)];
  return `${JSON.stringify({ path: `/${path.join('/')}`, folders, files })}\n`;
}

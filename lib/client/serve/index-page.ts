import type { Names } from './folder.ts';

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** A folder as a page of relative links, folders first; `rclone` and `wget` also read it. @param path without the token */
export function indexPage(path: readonly string[], names: Names): string {
  const title = escaped(`/${path.join('/')}`);
  const files = [...names].flatMap(([name, file]) => (file === undefined ? [] : [name]));
  const folders = [...names.keys()].filter((name) => names.get(name) === undefined).map((name) => `${name}/`);
  const links = [...folders.sort(), ...files.sort()].map((name) => {
    const address = `./${encodeURIComponent(name).replace(/%2F$/, '/')}`;
    return `<li><a href="${escaped(address)}">${escaped(name)}</a></li>`;
  });
  const above = path.length > 0 ? '<li><a href="../">../</a></li>\n' : '';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><ul>
${above}${links.join('\n')}
</ul></body></html>
`;
}

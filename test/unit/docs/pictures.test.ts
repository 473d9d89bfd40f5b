import { describe, expect, test } from 'vitest';
import { blocksOf, pages } from '../../helpers/pages.ts';

const kinds = /^(flowchart (LR|TD)|sequenceDiagram|stateDiagram-v2)$/;
const pictures = pages.flatMap((page) => blocksOf(page)).filter(({ language }) => language === 'mermaid');

/** A line of each kind of picture, in the part of Mermaid's language that the pages use. */
const id = '\\w+';
const text = '"[^"]+"';
const node = `${id}(?:\\[${text}\\]|\\[\\(${text}\\)\\]|\\[\\[${text}\\]\\]|\\(\\[${text}\\]\\)|\\{${text}\\})?`;
const arrow = `(?:-->|==>|-\\.->|-- (?:${text}|\\w+) -->|== ${text} ==>|-\\. ${text} \\.->)`;
const lines: Readonly<Record<string, RegExp>> = {
  flowchart: new RegExp(`^(?:${node}(?: ${arrow} ${node}(?: & ${node})*)*|subgraph ${id}\\[${text}\\]|end)$`),
  sequenceDiagram: new RegExp(
    `^(?:autonumber|(?:actor|participant) ${id} as .+|${id}--?>>${id}: [^;#]+|(?:alt|else|loop|opt) .+|end)$`,
  ),
  'stateDiagram-v2': new RegExp(`^(?:direction LR|(?:\\[\\*\\]|${id}) --> (?:\\[\\*\\]|${id})(?:: [^;#:]+)?)$`),
};

/** Lines that Mermaid would not draw; a picture that does not end what it opens is one. */
function undrawable(picture: string): readonly string[] {
  const [first = '', ...rest] = picture.trimEnd().split('\n');
  if (!kinds.test(first)) return [first];
  const known = lines[first.split(' ')[0] ?? ''];
  const content = rest.map((line) => line.trim());
  const opened = content.filter((line) => /^(subgraph|alt|loop|opt) /.test(line)).length;
  const ended = content.filter((line) => line === 'end').length;
  return [...content.filter((line) => !known?.test(line)), ...(opened === ended ? [] : ['end'])];
}

describe('pictures', () => {
  test.each(pictures.map((picture) => [`${picture.page}, ${picture.section}`, picture.text] as const))(
    '%s: is drawn by Mermaid',
    (_, picture) => {
      expect(undrawable(picture)).toEqual([]);
    },
  );

  test('are where people look', () => {
    expect([...new Set(pictures.map(({ page }) => page))]).toEqual(
      expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/client.md', 'docs/how-it-works.md']),
    );
  });

  test.each([
    ['graph LR\n  a --> b\n', 'graph LR'],
    ['flowchart LR\n  a -> b\n', 'a -> b'],
    ['flowchart LR\n  a["text] --> b\n', 'a["text] --> b'],
    ['flowchart LR\n  subgraph s["S"]\n  a --> b\n', 'end'],
    ['sequenceDiagram\n  a->b: text\n', 'a->b: text'],
    ['stateDiagram-v2\n  a --> b: one: two\n', 'a --> b: one: two'],
  ])('%j is not drawn', (picture, line) => {
    expect(undrawable(picture)).toEqual([line]);
  });
});

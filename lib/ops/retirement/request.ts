import { invalidRequest, type Violation } from '../../errors.ts';
import { OpsError } from '../errors.ts';

/** What an operator asks to be retired, as typed. `version` is the broken one, `replacement` the one to use instead. */
export interface RetirementOptions extends Readonly<Record<keyof typeof forms, string>> {
  /** Name of the Git tag. @default `<component>-<version>` */
  readonly tag?: string;
  /** Other tags that may vanish with the image; exactly those that it carries. @default - none */
  readonly alsoRemoveTags?: readonly string[] | undefined;
  /** There is no release entry to mark. */
  readonly noRelease: boolean;
}

/** A checked request, with the names that follow from it. */
export type Retirement = ReturnType<typeof checkRetirement>;

const part = '[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?';
const word = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$/;
/** Names as the platform has them. None can be `.` or `..`, which would lead to another address. */
const forms = {
  org: /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,99})$/,
  repository: /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$/,
  package: new RegExp(`^(?=.{1,255}$)${part}(?:/${part})*$`),
  component: word,
  version: word,
  replacement: word,
} as const;

/** Most characters of an image tag (OCI distribution specification, pulling manifests). */
const longestTag = 128;

/** Check a request before anything is asked. @throws OpsError `replacement_equal`, `tag_mismatch` */
export function checkRetirement({ tag: named, alsoRemoveTags = [], noRelease, ...names }: RetirementOptions) {
  const { component, version, replacement } = names;
  const violations: Violation[] = [];
  for (const name of Object.keys(forms) as (keyof typeof forms)[]) {
    if (!forms[name].test(names[name])) violations.push({ field: `--${name}`, message: 'is not a name of that kind' });
  }
  const imageTag = `${component}-${version}`;
  if (imageTag.length > longestTag) {
    violations.push({ field: '--version', message: `${imageTag} is too long for an image tag` });
  }
  const gitTag = named ?? imageTag;
  if (!isGitTagName(gitTag)) violations.push({ field: '--tag', message: 'is not a name of a Git tag' });
  if (violations.length > 0) throw invalidRequest(violations);

  if (replacement === version) {
    throw new OpsError('replacement_equal', `the replacement is the broken version itself, ${version}`);
  }
  // What may stand before the version in the Git tag of a component.
  const stems = [...['-', '-v', '/', '/v', '@', '@v'].map((sign) => `${component}${sign}`), 'v', ''];
  const stem = stems.find((each) => gitTag === `${each}${version}`);
  if (stem === undefined) {
    const expected = stems.map((each) => `${each}${version}`).join(', ');
    throw new OpsError('tag_mismatch', `the Git tag ${gitTag} is none of ${expected}`);
  }
  return {
    ...names,
    /** Of the broken image. */
    imageTag,
    replacementImageTag: `${component}-${replacement}`,
    /** Under `refs/tags/`. */
    gitTag,
    /** Where the replacement's release would be, by the pattern of `gitTag`. */
    replacementGitTag: `${stem}${replacement}`,
    alsoRemoveTags,
    noRelease,
  };
}

/**
 * Whether Git lets a tag be called so (git-check-ref-format), and an address can hold it: a name such as
 * `../heads/main` would delete a branch.
 */
function isGitTagName(name: string): boolean {
  const isSegment = (text: string) => text !== '' && !text.startsWith('.') && !/(\.|\.lock)$/.test(text);
  return (
    /^[A-Za-z0-9_][A-Za-z0-9_.+@/-]{0,200}$/.test(name) &&
    name.split('/').every(isSegment) &&
    !name.includes('..') &&
    !name.includes('@{')
  );
}

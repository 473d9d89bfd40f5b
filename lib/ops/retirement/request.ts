import { invalidRequest, type Violation } from '../../errors.ts';
import { RetirementError } from './errors.ts';
import { imageTag } from './image-tags.ts';

/** What an operator asks to be retired, as typed. */
export interface RetirementOptions {
  readonly org: string;
  readonly repository: string;
  /** Name of the container package; may have slashes. */
  readonly package: string;
  readonly component: string;
  /** The broken version. */
  readonly version: string;
  /** The version to use instead. */
  readonly replacement: string;
  /** Name of the Git tag. @default `<component>-<version>` */
  readonly tag?: string;
  /** Other tags that may vanish with the image; exactly those that it carries. @default - none */
  readonly alsoRemoveTags?: readonly string[];
  /** There is no release entry to mark. */
  readonly noRelease: boolean;
  /** The title was changed by hand. It is read and not written. @default false */
  readonly releaseMarked?: boolean;
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

/**
 * Check a request before anything is asked.
 * @throws RetirementError `replacement_equal`, `tag_mismatch`
 */
export function checkRetirement(options: RetirementOptions) {
  const { tag: named, alsoRemoveTags = [], releaseMarked = false, noRelease, ...names } = options;
  const { component, version, replacement } = names;
  const violations: Violation[] = [];
  for (const name of Object.keys(forms) as (keyof typeof forms)[]) {
    if (!forms[name].test(names[name])) violations.push({ field: `--${name}`, message: 'is not a name of that kind' });
  }
  const tag = imageTag(component, version);
  if (tag.length > longestTag) violations.push({ field: '--version', message: `${tag} is too long for an image tag` });
  const gitTag = named ?? tag;
  if (!isGitTagName(gitTag)) violations.push({ field: '--tag', message: 'is not a name of a Git tag' });
  if (violations.length > 0) throw invalidRequest(violations);

  if (replacement === version) {
    throw new RetirementError('replacement_equal', `the replacement is the broken version itself, ${version}`);
  }
  // What may stand before the version in the Git tag of a component.
  const stems = [...['-', '-v', '/', '/v', '@', '@v'].map((sign) => `${component}${sign}`), 'v', ''];
  const stem = stems.find((each) => gitTag === `${each}${version}`);
  if (stem === undefined) {
    const others = stems.slice(1).map((each) => `${each}${version}`);
    const text = `the Git tag ${gitTag} is not one of ${component} ${version}: expected ${tag}, or ${others.join(', ')}`;
    throw new RetirementError('tag_mismatch', text);
  }
  return {
    ...names,
    /** Of the broken image. */
    imageTag: tag,
    replacementImageTag: imageTag(component, replacement),
    /** Under `refs/tags/`. */
    gitTag,
    /** Where the replacement's release would be, by the pattern of `gitTag`. */
    replacementGitTag: `${stem}${replacement}`,
    alsoRemoveTags,
    noRelease,
    releaseMarked,
  };
}

/**
 * Whether Git lets a tag be called so (git-check-ref-format), and an address can hold it: a name such as
 * `../heads/main` would delete a branch.
 */
function isGitTagName(name: string): boolean {
  return (
    /^[A-Za-z0-9_][A-Za-z0-9_.+@/-]{0,200}$/.test(name) &&
    name.split('/').every((segment) => segment !== '' && !segment.startsWith('.') && !/(\.|\.lock)$/.test(segment)) &&
    !name.includes('..') &&
    !name.includes('@{')
  );
}

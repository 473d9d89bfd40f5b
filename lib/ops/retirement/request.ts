import { InvalidRequestError, type Violation } from '../../errors.ts';
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
  /** There is no release entry to mark. @default false */
  readonly noRelease?: boolean;
  /** The title was changed by hand. It is read and not written. @default false */
  readonly releaseMarked?: boolean;
}

/** A checked request, with the names that follow from it. */
export interface Retirement extends Required<Omit<RetirementOptions, 'tag'>> {
  readonly imageTag: string;
  readonly replacementImageTag: string;
  /** Under `refs/tags/`. */
  readonly gitTag: string;
  /** Where the replacement's release would be, by the pattern of {@link gitTag}. */
  readonly replacementGitTag: string;
}

const part = '[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?';
/** Names as the platform has them. None can be `.` or `..`, which would lead to another address. */
const forms = {
  org: /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,99})$/,
  repository: /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$/,
  package: new RegExp(`^(?=.{1,255}$)${part}(?:/${part})*$`),
  component: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$/,
  version: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$/,
  replacement: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$/,
} as const;

/** Most characters of an image tag (OCI distribution specification, pulling manifests). */
const longestTag = 128;

/**
 * Check a request before anything is asked.
 * @throws InvalidRequestError that names every malformed option
 * @throws RetirementError `replacement_equal`, `tag_mismatch`
 */
export function checkRetirement(options: RetirementOptions): Retirement {
  const violations: Violation[] = [];
  for (const name of Object.keys(forms) as (keyof typeof forms)[]) {
    if (!forms[name].test(options[name])) violations.push({ field: `--${name}`, message: 'is no name of that kind' });
  }
  const { component, version, replacement } = options;
  const tag = imageTag(component, version);
  if (tag.length > longestTag) violations.push({ field: '--version', message: `${tag} is too long for an image tag` });
  const gitTag = options.tag ?? tag;
  if (!isGitTagName(gitTag)) violations.push({ field: '--tag', message: 'is no name of a Git tag' });
  if (violations.length > 0) throw new InvalidRequestError(violations);

  if (replacement === version) {
    throw new RetirementError('replacement_equal', `the replacement is the broken version itself, ${version}`);
  }
  const stem = gitTag.slice(0, gitTag.length - version.length);
  if (!gitTag.endsWith(version) || !stemsOf(component).includes(stem)) {
    throw new RetirementError(
      'tag_mismatch',
      `the Git tag ${gitTag} is not one of ${component} ${version}: expected ${tag}, or ${stemsOf(component)
        .slice(1)
        .map((each) => `${each}${version}`)
        .join(', ')}`,
    );
  }
  return {
    org: options.org,
    repository: options.repository,
    package: options.package,
    component,
    version,
    replacement,
    imageTag: tag,
    replacementImageTag: imageTag(component, replacement),
    gitTag,
    replacementGitTag: `${stem}${replacement}`,
    alsoRemoveTags: options.alsoRemoveTags ?? [],
    noRelease: options.noRelease === true,
    releaseMarked: options.releaseMarked === true,
  };
}

/** What may stand before the version in the Git tag of a component. */
function stemsOf(component: string): readonly string[] {
  return [
    `${component}-`,
    `${component}-v`,
    `${component}/`,
    `${component}/v`,
    `${component}@`,
    `${component}@v`,
    'v',
    '',
  ];
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

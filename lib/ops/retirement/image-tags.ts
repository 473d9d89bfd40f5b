interface Tagged {
  readonly tags: readonly string[];
}

/** The tag of a component's image: `<component_name>-<version>`. */
export function imageTag(component: string, version: string): string {
  return `${component}-${version}`;
}

/** The versions that carry exactly this tag: `proxy-1.2` never stands for `proxy-1.2.1`. */
export function versionsTagged<Version extends Tagged>(versions: readonly Version[], tag: string): readonly Version[] {
  return versions.filter(({ tags }) => tags.includes(tag));
}

/** Tags of a version beside the one that names it, sorted. */
export function otherTags(version: Tagged, tag: string): readonly string[] {
  return version.tags.filter((each) => each !== tag).sort();
}

/** Whether both lists have the same tags, in any order. */
export function sameTags(a: readonly string[], b: readonly string[]): boolean {
  return a.every((tag) => b.includes(tag)) && b.every((tag) => a.includes(tag));
}

/**
 * Whether a tag is one that people pull without naming a full version (`latest`, `stable`, `proxy-1.2`): when it
 * vanishes, their next pull fails.
 */
export function isFloating(tag: string): boolean {
  return !/(^|[^0-9])\d+\.\d+\.\d+([-+._][0-9A-Za-z.+_-]+)?$/.test(tag) && !/^sha256-[0-9a-f]{64}/.test(tag);
}

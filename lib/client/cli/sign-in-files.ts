import { dirname, join } from 'node:path';

/** The files of a sign-in, beside the configuration file. */
export interface SignInFiles {
  /** `{"ga4gh_passport_v1":[…]}`, as `userinfo` gives it. */
  readonly passport: string;
  /** What renews it, if the user wants that and the issuer gives it. */
  readonly renewal: string;
}

export function signInFiles(configFile: string): SignInFiles {
  const folder = dirname(configFile);
  return { passport: join(folder, 'passport.json'), renewal: join(folder, 'login.json') };
}

import { operatorFiles } from '../../contract/synth.ts';
import { checkSettings, SettingsError } from '../../infra/check-settings.ts';
import type { Settings } from '../../infra/settings.ts';
import { leftOutKeys, parseTrustedIssuers, smokeIssuerFault, TrustedIssuersError } from '../../visas/index.ts';
import { fine, type Outcome, type PreflightResult, review, wrong } from './checks.ts';

/** Oldest Node.js that runs the project's commands. */
const nodeMajor = 24;

/** What can be checked without an account. */
export interface LocalInputs {
  readonly settings: Settings;
  /** Text of the trust list. */
  readonly issuers: string;
  /** The operator's files that do not exist. The defaults are checked instead. */
  readonly missing: readonly string[];
  readonly nodeVersion: string;
}

export function checkOffline({ settings, issuers, missing, nodeVersion }: LocalInputs): readonly PreflightResult[] {
  // A deployment without the file is refused.
  const remedy = 'Write it before you deploy: docs/operators.md#before-the-first-deployment';
  const absent = review('missing, so the defaults were checked', remedy);
  const ofFile = (id: string, check: string, outcome: Outcome) => ({
    ...{ id, check },
    ...(missing.includes(check) ? absent : outcome),
  });
  const isNew = Number.parseInt(nodeVersion, 10) >= nodeMajor;
  const node = isNew ? fine(nodeVersion) : wrong(nodeVersion, `Run npm ci, which brings Node.js ${nodeMajor}.`);
  return [
    ofFile('settings', operatorFiles.settings, checkedSettings(settings)),
    ofFile('issuers', operatorFiles.trustedIssuers, checkedIssuers(settings, issuers)),
    { id: 'node', check: 'Node.js', ...node },
  ];
}

function checkedSettings(settings: Settings): Outcome {
  try {
    checkSettings(settings);
    return fine(`for ${settings.purpose ?? 'production'}, stage ${settings.stage ?? '(none)'}`);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const [, ...faults] = error.message.split('\n').map((line) => line.trim());
    return wrong(faults.join('; '), 'Correct these fields: docs/settings.md has their limits.');
  }
}

function checkedIssuers({ purpose }: Settings, text: string): Outcome {
  const remedy = 'docs/trusted-issuers.md has the form.';
  try {
    const trusted = parseTrustedIssuers(JSON.parse(text));
    const fault = smokeIssuerFault(trusted, purpose);
    if (fault !== undefined) return wrong(fault, remedy);
    const names = [...trusted.keys()];
    if (names.length > 0) return fine([names.join(', '), leftOutKeys(trusted)].filter(Boolean).join('; '));
    return review('no issuer: every visa will be refused', 'docs/trusted-issuers.md#add-an-issuer');
  } catch (error) {
    if (!(error instanceof TrustedIssuersError || error instanceof SyntaxError)) throw error;
    return wrong(error.message.replaceAll(/\s+/g, ' '), remedy);
  }
}

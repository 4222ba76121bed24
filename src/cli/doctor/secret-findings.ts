import { counted } from '../../core/text/number.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { isInBackend } from '../../credentials/secret.ts';
import { statOf } from '../../files/stat.ts';
import type { Terminal } from '../terminal.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { type DoctorFinding, okFinding, orProblem, problemIn, warningFinding } from './finding.ts';

/** Checks the list of credentials, the keychain and the vault. One usable backend (keychain or vault) is enough. */
export async function backendFindings({ env }: DoctorOptions, terminal: Terminal): Promise<DoctorFinding[]> {
  const store = openCredentials(env, terminal);
  const stored = await orProblem('credentials', () => okFinding('credentials', `${counted(store.list().length, 'credential')} stored`));
  const inKeychain = stored.state === 'ok' && store.list().some((one) => one.backend === 'keychain' && isInBackend(one));
  const [keychain, vault] = await Promise.all([store.backends.keychain.problem(), store.backends.vault.problem()]);
  const hasVault = statOf(store.backends.vault.path) !== undefined;
  return [
    stored,
    backendFinding('keychain', keychain, { isNeeded: inKeychain, isReplaced: vault === undefined }),
    backendFinding('vault', vault, { isNeeded: hasVault, isReplaced: keychain === undefined }),
  ];
}

/**
 * Returns the finding for a backend (keychain or vault). `isNeeded` is true if secrets are stored in it. `isReplaced` is true if the other
 * backend can be used.
 */
function backendFinding(
  check: string,
  reason: string | undefined,
  { isNeeded, isReplaced }: { readonly isNeeded: boolean; readonly isReplaced: boolean },
): DoctorFinding {
  if (reason === undefined) return okFinding(check, isNeeded ? 'it contains secrets, and can be opened' : 'it can be used');
  if (isNeeded)
    return problemIn(
      check,
      `it contains secrets, but cannot be used: ${reason}`,
      'secrets can also be set in variables: AUTOMATE_CREDENTIAL_...',
    );
  const [first = ''] = reason.split('\n');
  if (isReplaced) return okFinding(check, `it cannot be used, and is not needed: ${first}`);
  return warningFinding(
    check,
    `it cannot be used: ${first}`,
    'set AUTOMATE_VAULT_PASSPHRASE to use the vault, or secrets in variables: AUTOMATE_CREDENTIAL_...',
  );
}

import { durationText } from '../../core/duration.ts';
import { FlowError, type Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { counted } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { loadSecrets } from '../../credentials/flow-secrets.ts';
import { isInBackend, type StoredCommand } from '../../credentials/secret.ts';
import { statOf } from '../../files/stat.ts';
import { loadFlow } from '../../run/flow-file.ts';
import { messageWithAdvice } from '../advice.ts';
import { tryCommand } from '../credentials-set.ts';
import type { Terminal } from '../terminal.ts';
import { type DoctorFinding, type DoctorOptions, okFinding, orProblem, problemFinding, problemIn, warningFinding } from './finding.ts';
import { hostFindings } from './network-findings.ts';

export async function flowFindings(file: string, options: DoctorOptions, terminal: Terminal): Promise<DoctorFinding[]> {
  let plan: Plan;
  try {
    plan = await loadFlow(file, { allowHttp: true, textCells: false, env: options.env, var: options.var });
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    const [first] = error.problems;
    const count = counted(error.problems.length, 'problem');
    const message = `${file} is not valid: ${count}${first ? `, first ${placed(file, first).split('\n')[0]}` : ''}`;
    return [problemFinding('flow', message, `automate validate ${shellWord(file)}`)];
  }
  const credentials = await credentialFindings(plan, file, options, terminal);
  return [okFinding('flow', `${file} is valid`), ...credentials, ...(await hosts(plan, options))];
}

async function credentialFindings(plan: Plan, file: string, { env }: DoctorOptions, terminal: Terminal): Promise<DoctorFinding[]> {
  const check = 'credentials of the flow';
  try {
    const { secrets, commands } = await loadSecrets(plan, file, { env }, terminal);
    const given = [...(commands?.commands.values() ?? [])];
    const names = [...secrets.keys(), ...given.map(({ name }) => name)];
    const findings = [okFinding(check, names.length === 0 ? 'it needs none' : `found: ${names.join(', ')}`)];
    for (const command of given) findings.push(await commandFinding(command, terminal));
    return findings;
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    return error.problems.map((one) => problemIn(check, placed(file, one)));
  }
}

const commandCheck = 'command of ';

/** Every run of the flow would then end with the exit code 7. */
export function isFailedCommand({ check, state }: DoctorFinding): boolean {
  return state === 'problem' && check.startsWith(commandCheck);
}

async function commandFinding(command: StoredCommand, terminal: Terminal): Promise<DoctorFinding> {
  const check = commandCheck + command.name;
  const tried = await tryCommand(command, terminal);
  if ('ms' in tried) return okFinding(check, `it printed a secret in ${durationText(tried.ms)}`);
  return problemIn(check, messageWithAdvice(tried.problem));
}

async function hosts(plan: Plan, options: DoctorOptions): Promise<DoctorFinding[]> {
  if (plan.origins.length === 0) return [okFinding('hosts', 'no host is written in the flow')];
  try {
    return await hostFindings(plan.origins, options);
  } catch {
    // The hosts are not checked if the proxy or certificate settings cannot be used, which another check reports.
    return [];
  }
}

function placed(file: string, problem: Problem): string {
  const { line, column } = problem;
  return `${file}${line === undefined ? '' : `:${line}:${column}`}: ${messageWithAdvice(problem)}`;
}

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

/** `isNeeded`: secrets are stored in this backend (keychain or vault). `isReplaced`: the other backend can be used. */
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

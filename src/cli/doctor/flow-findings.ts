import { durationText } from '../../core/duration.ts';
import { FlowError, type Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { counted } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { loadSecrets } from '../../credentials/flow-secrets.ts';
import type { StoredCommand } from '../../credentials/secret.ts';
import { loadFlow } from '../../run/flow-file.ts';
import { messageWithAdvice } from '../advice.ts';
import { tryCommand } from '../credentials/try-command.ts';
import type { Terminal } from '../terminal.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { type DoctorFinding, okFinding, problemFinding, problemIn } from './finding.ts';
import { hostFindings } from './network-findings.ts';

/** Checks a flow file, the flow's credentials, and the hosts to which it sends requests. */
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

/** The beginning of the name of each check of a command that prints a secret. */
const commandCheck = 'command of ';

/** True if a command that prints a secret failed. Every run of the flow would then end with the exit code 7. */
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

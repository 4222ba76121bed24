import { loadFlow } from '../../app/flow/flow-file.ts';
import { loadSecrets } from '../../app/flow/flow-secrets.ts';
import { FlowError, type Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { counted } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { messageWithAdvice } from '../advice.ts';
import type { Terminal } from '../terminal.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { type Finding, okFinding, problemFinding, problemIn } from './finding.ts';
import { hostFindings } from './network-findings.ts';

/** Checks a flow file, its credentials and its hosts. */
export async function flowFindings(file: string, options: DoctorOptions, terminal: Terminal): Promise<Finding[]> {
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

async function credentialFindings(plan: Plan, file: string, { env }: DoctorOptions, terminal: Terminal): Promise<Finding[]> {
  const check = 'credentials of the flow';
  try {
    const { secrets } = await loadSecrets(plan, file, env === undefined ? {} : { env }, terminal);
    return [okFinding(check, secrets.size === 0 ? 'it needs none' : `found: ${[...secrets.keys()].join(', ')}`)];
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    return error.problems.map((one) => problemIn(check, placed(file, one)));
  }
}

async function hosts(plan: Plan, options: DoctorOptions): Promise<Finding[]> {
  if (plan.origins.length === 0) return [okFinding('hosts', 'the flow names none')];
  try {
    return await hostFindings(plan.origins, options);
  } catch {
    // A proxy or a certificate file that cannot be used is a finding of its own.
    return [];
  }
}

function placed(file: string, problem: Problem): string {
  const { line, column } = problem;
  return `${file}${line === undefined ? '' : `:${line}:${column}`}: ${messageWithAdvice(problem)}`;
}

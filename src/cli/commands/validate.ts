import { FlowError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { exitCodes } from '../exit.ts';
import { checkFields, loadFlow, loadSecrets, tellWarnings } from '../flow-file.ts';
import { hasTextCells, type InputOptions, openInput } from '../input-options.ts';
import { counted } from '../show/number.ts';
import type { Terminal } from '../terminal.ts';

/** The options of `automate validate`. */
export interface ValidateOptions extends Omit<InputOptions, 'in'> {
  readonly in?: string;
  readonly offline?: boolean;
  readonly allowHttp?: boolean;
}

/** Checks a flow: its file, its references against an input, its credentials. Answers the exit code. */
export async function validateCommand(flow: string, options: ValidateOptions, terminal: Terminal): Promise<number> {
  const plan = await loadFlow(flow, {
    allowHttp: options.allowHttp ?? false,
    textCells: options.in === undefined || hasTextCells(options),
  });
  tellWarnings(plan, flow, terminal);
  await reportTogether(flow, [
    () => (options.in === undefined ? undefined : checkReferences(plan, flow, { ...options, in: options.in })),
    () => loadSecrets(plan, flow, terminal.redactor),
  ]);
  const against = options.in === undefined ? '' : `, every reference is in ${options.in}`;
  await terminal.print(`${flow} is valid: ${counted(plan.steps.length, 'node')}${against}`);
  return exitCodes.success;
}

async function checkReferences(plan: Plan, flow: string, options: InputOptions): Promise<void> {
  const source = await openInput(options);
  await source.close();
  // The first record of a JSON input stands for all of them here.
  if (source.columns) checkFields(plan, flow, source.columns);
}

/** Makes every check, and throws the problems of all as one FlowError. A credential alone is no problem of the flow. */
async function reportTogether(flow: string, checks: readonly (() => unknown)[]): Promise<void> {
  const errors: FlowError[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof FlowError)) throw error;
      errors.push(error);
    }
  }
  const [first] = errors;
  if (!first) return;
  const problems = errors
    .flatMap((error) => error.problems)
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  throw new FlowError(flow, problems, first.kind === 'credential' ? 'credential' : 'flow');
}

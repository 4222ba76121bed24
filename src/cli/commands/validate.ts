import { FlowError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { exitCodes } from '../exit.ts';
import { checkFields, loadFlow, loadSecrets, tellWarnings } from '../flow-file.ts';
import { hasTextCells, type InputOptions, isTable, openInput } from '../input-options.ts';
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
  let against = '';
  await reportTogether(flow, [
    async () => {
      if (options.in !== undefined) against = await checkReferences(plan, flow, { ...options, in: options.in });
    },
    () => loadSecrets(plan, flow, terminal.redactor),
  ]);
  await terminal.print(`${flow} is valid: ${counted(plan.steps.length, 'node')}${against}`);
  return exitCodes.success;
}

/** Answers what was checked. Only a table tells all of its fields before the first record; one of JSON may have others than the next. */
async function checkReferences(plan: Plan, flow: string, options: InputOptions): Promise<string> {
  const source = await openInput(options);
  await source.close();
  if (!isTable(source.format)) return '; references are checked in tables only';
  checkFields(plan, flow, source.columns ?? []);
  return `, every reference is in ${options.in}`;
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

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
  if (options.in !== undefined) {
    const source = await openInput({ ...options, in: options.in });
    await source.close();
    // The first record of a JSON input stands for all of them here.
    if (source.columns) checkFields(plan, flow, source.columns);
  }
  await loadSecrets(plan, flow, terminal.redactor);
  const against = options.in === undefined ? '' : `, every reference is in ${options.in}`;
  await terminal.print(`${flow} is valid: ${counted(plan.steps.length, 'node')}${against}`);
  return exitCodes.success;
}

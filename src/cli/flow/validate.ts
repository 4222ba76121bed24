import { FlowError } from '../../core/failure.ts';
import { allSteps, type CredentialUse } from '../../core/plan.ts';
import { inOrder } from '../../flow/plan.ts';
import { exitCodes } from '../exit.ts';
import { columnsOf, hasTextCells, type InputOptions } from '../input-options.ts';
import { counted } from '../show/number.ts';
import type { Terminal } from '../terminal.ts';
import { checkFields, loadFlow, printWarnings } from './flow-file.ts';
import { loadSecrets, loadSecretsOf } from './flow-secrets.ts';

/** The options of `automate validate`. */
export interface ValidateOptions extends Omit<InputOptions, 'in'> {
  readonly in?: string;
  readonly offline?: boolean;
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
}

/** Checks a flow: its file, its references against an input, its credentials. Answers the exit code. */
export async function validateCommand(flow: string, options: ValidateOptions, terminal: Terminal): Promise<number> {
  const { in: input } = options;
  const read = input === undefined ? undefined : await columnsOf({ ...options, in: input });
  const given = { allowHttp: options.allowHttp ?? false, textCells: input === undefined || hasTextCells(options) };
  let uses: readonly CredentialUse[] = [];
  const plan = await loadFlow(flow, given).catch((error: unknown) =>
    // What is wrong with the references and the credentials of a flow that is wrong elsewhere, too.
    reportTogether(flow, [
      async () => {
        const credentials = (found: readonly CredentialUse[]) => {
          uses = found;
        };
        await loadFlow(flow, { ...given, ...(read?.columns && { columns: read.columns }), credentials });
      },
      () => loadSecretsOf(uses, flow, options, terminal),
    ]).then(() => {
      throw error;
    }),
  );
  if (read?.error !== undefined) throw read.error;
  printWarnings(plan, flow, terminal, read?.columns);
  await reportTogether(flow, [
    () => read?.columns && checkFields(plan, flow, read.columns),
    async () => {
      const credentials = await loadSecrets(plan, flow, options, terminal);
      if (options.offline || plan.tools.length === 0) return;
      const asking = { ...options, isTable: input !== undefined && hasTextCells(options) };
      await (await import('./tool-checks.ts')).checkTools(plan, flow, credentials, asking, terminal);
    },
  ]);
  const against = !read ? '' : read.columns ? `, every reference is in ${input}` : '; references are checked in tables only';
  await terminal.print(`${flow} is valid: ${counted(allSteps(plan.steps).length, 'node')}${against}`);
  return exitCodes.success;
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
  const problems = inOrder(errors.flatMap((error) => error.problems));
  throw new FlowError(flow, problems, errors.every(({ kind }) => kind === 'credential') ? 'credential' : 'flow');
}

import { stat } from 'node:fs/promises';
import { FlowError, type Problem } from '../core/failure.ts';
import { allSteps, type CredentialUse, dataFilesOf } from '../core/plan.ts';
import type { GivenVariables } from '../core/run-options.ts';
import { counted } from '../core/text/number.ts';
import { loadSecrets, loadSecretsOf, type SecretsOptions } from '../credentials/flow-secrets.ts';
import { inOrder } from '../flow/plan.ts';
import { readError } from '../records/input.ts';
import { columnsOf, hasTextCells, type InputFields, inputLabel, withToldFormat } from '../records/inputs.ts';
import { checkHeader, type FlowFileOptions, loadFlow } from '../run/flow-file.ts';
import { type ReadingOptions, type SendingOptions, type WithInputs, withInputs } from './shared-options.ts';
import { printUnknownFields, printWarnings, problemText } from './show/problems.ts';
import { sayFormat, sayNote, type Terminal } from './terminal.ts';

interface ValidateOptions extends SendingOptions, ReadingOptions {
  readonly in?: readonly string[];
  readonly offline?: boolean;
  readonly var: GivenVariables;
}

type ValidateChoices = WithInputs<ValidateOptions>;

/** Also checks credentials and tools and, with an input, that the fields in the flow are its columns. */
export async function validateCommand(flow: string, written: ValidateOptions, terminal: Terminal): Promise<undefined> {
  const given = withInputs(written);
  const { in: input, allowHttp = false, env, var: variables } = given;
  const options = input === undefined ? given : await withToldFormat({ ...given, in: input }, sayFormat(terminal));
  const read = input === undefined ? undefined : await columnsOf({ ...options, in: input });
  const fileOptions = { allowHttp, env, var: variables, textCells: input === undefined || hasTextCells(options), columns: read?.columns };
  const plan = await loadFlow(flow, { ...fileOptions, columns: undefined }).catch(async (error: unknown) => {
    await reportTogether(flow, invalidFlowChecks(flow, fileOptions, options, terminal));
    throw error;
  });
  read?.notes?.forEach(sayNote(terminal));
  if (read?.error !== undefined) throw read.error;
  // Only warns about missing data files. A run would fail without them, but the flow itself is valid.
  for (const file of dataFilesOf(plan)) await stat(file).catch((error) => terminal.warn(readError(file, error).message));
  printWarnings(plan, flow, terminal, read?.columns ?? read?.firstFields, read?.columns && plan.headerProblems(read.columns));
  if (read?.firstFields) printUnknownFields(plan, flow, terminal, read.firstFields);
  await reportTogether(flow, [
    () => read?.columns && checkHeader(plan, flow, read.columns),
    async () => {
      const credentials = await loadSecrets(plan, flow, secretsOptions(flow, options, terminal), terminal);
      if (options.offline || plan.tools.length === 0) return;
      const asking = { ...options, credentials, textCells: input !== undefined && hasTextCells(options) };
      await (await import('./tool-checks.ts')).checkTools(plan, flow, asking, terminal);
    },
  ]);
  for (const note of plan.notes) await terminal.print(note);
  const isSame = !plan.reads.any && plan.reads.fields.size === 0 && allSteps(plan.steps).some(({ node }) => node.action);
  const fields = isSame ? withoutFields(given) : against(given, read);
  await terminal.print(`${flow} is valid: ${counted(allSteps(plan.steps).length, 'node')}${fields}`);
}

/** With --offline, a credential that is not in an environment variable only causes a warning. */
function secretsOptions(flow: string, { env, offline }: ValidateChoices, { say, colors }: Terminal): SecretsOptions {
  const warn = (problem: Problem) => say(problemText(flow, problem, colors, 'warning'));
  return { env, offline: offline ? warn : undefined };
}

/** Names the input whose columns were compared with the flow's fields; empty without an input. */
function against({ in: first, moreIn }: ValidateChoices, read: InputFields | undefined): string {
  if (!read || first === undefined) return '';
  const input = moreIn ? inputLabel({ in: first, moreIn }) : first;
  if (read.columns) return `, every referenced field is in ${input}`;
  if (!read.firstFields) return `; ${input} has no record to check references against`;
  return `; references are checked against the first records of ${input}: later records may have different fields`;
}

/** Message part for a flow that sends requests, but uses no field; empty without an input. */
function withoutFields({ in: input }: ValidateChoices): string {
  return input === undefined ? '' : '; no node uses a field of the input, so every record sends the same requests';
}

/** The checks for a flow that does not compile. Its field references and its credentials might be wrong, too. */
function invalidFlowChecks(flow: string, fileOptions: FlowFileOptions, options: ValidateChoices, terminal: Terminal): (() => unknown)[] {
  let uses: readonly CredentialUse[] = [];
  const credentials = (found: readonly CredentialUse[]) => {
    uses = found;
  };
  return [
    () => loadFlow(flow, { ...fileOptions, credentials }),
    () => loadSecretsOf(uses, flow, secretsOptions(flow, options, terminal), terminal),
  ];
}

/** Throws all problems as one FlowError, of the kind `credential` if all problems are about credentials. */
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
  const ofFlow = problemsIn(errors.filter(({ kind }) => kind !== 'credential'));
  // A credential problem is left out if the flow has a problem at the same position. It is then not known which credential the user meant.
  const ofCredentials = problemsIn(errors.filter(({ kind }) => kind === 'credential')).filter(
    ({ line, column }) => !ofFlow.some((other) => other.line === line && other.column === column),
  );
  const problems = inOrder([...ofFlow, ...ofCredentials]);
  throw new FlowError(flow, problems, errors.every(({ kind }) => kind === 'credential') ? 'credential' : 'flow');
}

function problemsIn(errors: readonly FlowError[]): Problem[] {
  return errors.flatMap(({ problems }) => problems);
}

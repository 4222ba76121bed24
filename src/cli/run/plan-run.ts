import { usageError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { withSetFields } from '../../flow/set-fields.ts';
import { hasTextCells, withToldFormat } from '../../records/inputs.ts';
import { loadFlowFor } from '../../run/flow-file.ts';
import { optionFlag } from '../advice.ts';
import { inputOptions, withInputs } from '../shared-options.ts';
import { sayFormat, type Terminal } from '../terminal.ts';
import type { GivenRun, GivenRunOptions, WrittenRun } from './run-options.ts';

/** Uses --in, otherwise stdin unless it is a terminal. Throws an AutomateError (`usage`) without usable input, unless --no-input is set. */
function chooseInput(options: GivenRunOptions): GivenRun {
  if (!options.input) {
    const useless = (['in', ...Object.keys(inputOptions)] as (keyof GivenRunOptions)[]).find((name) => options[name] !== undefined);
    if (useless) throw usageError(`--no-input reads nothing: leave ${optionFlag(useless)} out`);
    return { ...options, in: '-', noInput: true, inFormat: 'ndjson' };
  }
  const named = withInputs(options);
  if (named.in !== undefined) return { ...named, in: named.in };
  if (!process.stdin.isTTY) return { ...options, in: '-' };
  throw usageError(
    'expected --in FILE, found none, and stdin is a terminal\ngive the records with --in, pipe them in, or run the flow once with --no-input',
  );
}

/** Does not wait for stdin until the flow is known to be valid. */
export async function planRun(given: WrittenRun<GivenRunOptions>, terminal: Terminal): Promise<{ plan: Plan; written: WrittenRun }> {
  if (given.options.quiet && given.options.verbose) throw usageError('expected --quiet or --verbose, found both');
  const chosen = chooseInput(given.options);
  const { allowHttp = false, concurrency, rate: intervalMs, set, env, var: variables } = chosen;
  const added = set.map(([name]) => name);
  const load = (options: GivenRun) =>
    loadFlowFor(options, given.flow, { allowHttp, textCells: hasTextCells(options), concurrency, intervalMs, env, var: variables }, added);
  const plan = await load(chosen);
  const options = await withToldFormat(chosen, chosen.quiet ? undefined : sayFormat(terminal));
  const told = hasTextCells(options) === hasTextCells(chosen) ? plan : await load(options);
  return { plan: withSetFields(told, set), written: { ...given, options } };
}

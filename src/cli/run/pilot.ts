import { cleaned } from '../../core/answer/response.ts';
import type { Plan } from '../../core/plan.ts';
import { formatCount } from '../../core/text/number.ts';
import { statOf } from '../../files/stat.ts';
import { refuseOutput } from '../../output/output-claim.ts';
import { canResume, isFileOrFree, type OutputPlan } from '../../output/output-plan.ts';
import { findOutput } from '../../output/unfinished-run.ts';
import { chooseRecords, PilotFindings } from '../../preview/pilot.ts';
import { onOneLine } from '../../records/errors-file.ts';
import { inputPaths } from '../../records/inputs.ts';
import { failuresOf, type PilotView, type RunView } from '../../report/run-view.ts';
import type { RunHandle } from '../../run/run.ts';
import type { RunRequest } from '../../run/run-request.ts';
import type { RunResult } from '../../run/run-result.ts';
import { messageWithAdvice } from '../advice.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import { type GivenRun, type GivenRunOptions, refuse } from './run-options.ts';
import { pilotText, quietPilotText } from './summary.ts';

/** Throws an AutomateError (`usage`) before anything is read, because stdin might never end. */
export function refusePilot({ in: inputs = [], input, out, unordered, limit, skip, queue }: GivenRunOptions): void {
  if (!input) refuse('--pilot chooses among the records of an input, and --no-input has none: leave --pilot out');
  if (inputs.length === 0 || inputs.includes('-'))
    refuse('--pilot needs an input file, because it reads the records twice, and stdin can be read only once\ngive one with --in FILE');
  if (out === '-') refuse('--pilot needs an output file, because the results of its records are kept next to it\ngive one with --out FILE');
  if (unordered) refuse('--pilot keeps the order of the records: leave --unordered out');
  if (limit !== undefined || skip !== undefined) refuse('--pilot chooses among all records of the input: leave --limit and --skip out');
  if (queue !== undefined)
    refuse('--pilot runs its records in this process: leave --queue out, and add it to the --resume command that the pilot prints');
}

/** Throws an AutomateError (`usage`) if the flow, the input or the output cannot have a pilot. */
export function refusePilotOf({ serialOrder }: Plan, options: GivenRun, files: OutputPlan): void {
  if (serialOrder)
    refuse(
      `--pilot runs records out of their order, and this flow keeps it (serial_by: ${serialOrder.label}): leave --pilot out\nto try some records, run the flow over a short file`,
    );
  const stream = inputPaths(options).find((path) => statOf(path)?.isFile() === false);
  if (stream !== undefined)
    refuse(`--pilot needs an input file, because it reads the records twice, and ${stream} is a stream\nwrite its records to a file first`);
  if (!isFileOrFree(files.out))
    refuse(
      `--pilot needs an output file, because the results of its records are kept next to it, and ${files.out} is a stream\ngive one with --out FILE`,
    );
  if (!canResume(files))
    refuse(
      `--pilot needs an output to which rows can be added: the workbook ${files.out} is written all at once, at the end of a run\nwrite CSV: --out FILE.csv`,
    );
}

export interface RunWatcher {
  follow(run: RunHandle): void;
  ended(result: Pick<RunResult, 'view' | 'brokenView'>): void;
  /** Nothing runs while a person is asked, so that a signal then ends the process. */
  asking(isAsking: boolean): void;
}

/** A pilot, or the run that goes on after it. */
export interface PartOfRun {
  readonly findings?: PilotFindings;
  /** An earlier part in this process has already printed what is known about the flow and the input. */
  readonly isLater?: boolean;
}

export type ShowRun = (request: RunRequest, part?: PartOfRun) => Promise<number>;

type Reply = 'yes' | 'no' | 'more';

/** Runs pilots until the person goes on with the other records or stops. Returns the exit code. */
export async function runPilot(request: RunRequest, terminal: Terminal, watcher: RunWatcher, show: ShowRun): Promise<number> {
  const { plan, flow, options, files } = request;
  const count = options.pilot as number;
  if (options.resume && (await findOutput(files.out)).journal) return show(request);
  await refuseOutput({ file: flow, plan }, { ...options, dryRun: true }, files);
  const findings = new PilotFindings();
  let next = request;
  for (;;) {
    const chosen = await chooseRecords(next, terminal.redactor, { count, tried: findings.tried, random: Math.random });
    const isLater = next !== request;
    if (!chosen) return show(next, { isLater });
    findings.begin(chosen);
    let answer: Reply | undefined;
    const pilot: RunRequest['pilot'] = {
      records: chosen.all,
      finished: (item, outcome) => findings.finished(item, outcome),
      async ended(last) {
        const view = await viewOf(next, findings, last, terminal);
        watcher.ended({ view });
        const { quiet = false } = options;
        terminal.say(quiet ? quietPilotText(view, terminal.colors) : pilotText(view, tableOf(findings, next, terminal), terminal.colors));
        watcher.asking(true);
        answer = await ask(view.pilot.rest.records, terminal);
        watcher.asking(false);
        if (answer === 'no')
          terminal.say(view.next.map(({ why, command }) => `  ${why}:\n    ${terminal.colors.cyan(command)}`).join('\n'));
        return { view, goesOn: answer !== 'no' };
      },
    };
    // Few records need no workers.
    const exitCode = await show({ ...next, options: { ...next.options, workers: undefined }, pilot }, { findings, isLater });
    if (answer === undefined || answer === 'no') return exitCode;
    next = { ...request, options: { ...options, resume: true, force: false } };
    if (answer === 'yes') return show(next, { isLater: true });
  }
}

/** Of all pilots so far. */
async function viewOf(
  request: RunRequest,
  findings: PilotFindings,
  last: RunView,
  { redactor }: Terminal,
): Promise<RunView & { readonly pilot: PilotView }> {
  const { tally } = findings;
  const { written, failed, filtered, passedThrough } = tally;
  return {
    ...last,
    counts: { ...last.counts, written, failed, filtered, passedThrough },
    failures: failuresOf(tally, { command: '', message: messageWithAdvice }),
    pilot: await findings.measured(request, redactor, last),
  };
}

/** Without a person at the terminal, and if the question is cancelled, the answer is `no`. */
async function ask(others: number, { findAsker, say }: Terminal): Promise<Reply> {
  const asker = findAsker?.();
  if (!asker) return 'no';
  for (;;) {
    const text = await asker.line(`go on with the other ${formatCount(others)}? [y]es, [n]o, [m]ore`);
    const letters = text?.trim().toLowerCase() ?? 'no';
    const answer = (['yes', 'no', 'more'] as const).find((word) => letters !== '' && word.startsWith(letters));
    if (answer) return answer;
    say(`expected y, n or m, found ${letters === '' ? 'nothing' : cleaned(letters)}`);
  }
}

/** Fewer columns than this leave no room for cells. */
const leastWidth = 60;

function tableOf(findings: PilotFindings, { plan }: RunRequest, terminal: Terminal): string[] {
  const records = findings.shown();
  const made = plan.columns([]);
  const places = new Map(made.map((name, index) => [name, index]));
  const placeOf = (name: string) => places.get(name) ?? made.length;
  const names = [...new Set(records.flatMap(({ cells }) => [...cells.keys()]))].sort((one, other) => placeOf(one) - placeOf(other));
  if (names.length === 0) return [];
  const rows = records.map(({ number, rows: count, cells }) => [
    count === 1 ? String(number) : `${number} (1 of ${formatCount(count)} rows)`,
    ...names.map((name) => cleaned(onOneLine(cells.get(name) ?? ''))),
  ]);
  const width = Math.max(leastWidth, terminal.isLive ? process.stderr.columns - 2 : 120);
  return tableText([['record', ...plan.names.allInFile(names)], ...rows], { width, cut: names.map((_, index) => index + 1) });
}

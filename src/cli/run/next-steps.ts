import type { Ending } from '../../core/event.ts';
import { isNoFile } from '../../io/files/stat.ts';
import { extensionOf, formatOfPath } from '../../io/records/format.ts';
import { isTable } from '../input-options.ts';
import { creditsText } from '../show/number.ts';
import type { SummaryFacts } from '../show/summary.ts';
import type { Tally } from '../show/tally.ts';
import { shellWord } from '../show/text.ts';
import type { OutputPlan } from './output-files.ts';
import type { RunOptions } from './run-options.ts';

type NextStep = SummaryFacts['next'][number];

/** What to do after a run that did not do everything, as command lines to copy. `failed`: records in the errors file. */
export function nextSteps(
  ending: Ending,
  tally: Tally,
  failed: number,
  flow: string,
  options: RunOptions,
  files: OutputPlan,
): readonly NextStep[] {
  return [
    ...goingOn(ending, tally, flow, options, files),
    // While a run can be gone on with, more failed records may come into the same file.
    ...(failed > 0 && (ending === 'complete' || files.isStreamed) && files.errors !== '-' && !isNoFile(files.errors)
      ? [{ why: tryingAgain(tally, failed, files), command: retryCommand(flow, options, files) }]
      : []),
    ...lookingAtAnswers(tally, flow, options),
  ];
}

/** A path that finds nothing in any answer is mostly not the one that was meant. */
function lookingAtAnswers({ hits, answered }: Tally, flow: string, options: RunOptions): NextStep[] {
  const nowhere = [...hits.values()].flat().find(({ found, of }) => found === 0 && of > 0);
  if (!nowhere || options.in === '-') return [];
  const { in: input, inFormat, delimiter, encoding, env, cacert, allowHttp } = options;
  const record = answered.get(nowhere.node);
  const valued = {
    '--in': input,
    '--in-format': inFormat,
    '--delimiter': delimiter,
    '--encoding': encoding,
    '--env': env,
    '--cacert': cacert,
    '--record': record === 1 ? undefined : record?.toString(),
  };
  const words = Object.entries({ ...valued, '--node': nowhere.node }).flatMap(([name, value]) =>
    value === undefined ? [] : [name, value],
  );
  const command = ['automate', 'test-request', flow, ...words, ...(allowHttp ? ['--allow-http'] : [])].map(shellWord).join(' ');
  return [{ why: `no answer has ${nowhere.path}: see what one has`, command }];
}

/** What could not be read fails again until somebody has mended it. */
function tryingAgain({ failures }: Tally, failed: number, { errors, errorsFormat }: OutputPlan): string {
  const unread = [...failures.values()].reduce((sum, { class: kind, count: times }) => sum + (kind === 'input' ? times : 0), 0);
  if (unread === 0) return 'try the failed records again';
  const mark = isTable(errorsFormat) ? '_error_class' : '_error.class';
  const mend = (which: string, its: string) =>
    `mend ${which} in ${errors}, and empty ${its} ${mark}: else what could not be read fails again`;
  if (unread < failed) return `try the failed records again; those of class input: first ${mend('them', 'their')}`;
  return unread === 1
    ? `first ${mend('this record', 'its')}; then try it again`
    : `first ${mend('these records', 'their')}; then try them again`;
}

/** How to do the rest of a run that did not come to its end: a file is gone on with, behind what was streamed in order a new run begins. */
export function goingOn(ending: Ending, tally: Tally, flow: string, options: RunOptions, files: OutputPlan): NextStep[] {
  if (ending === 'complete') return [];
  const short = ending === 'max-credits' && tally.read + tally.newlyWaiting === 0 ? shortOf(tally, options) : undefined;
  if (!files.isStreamed) return [{ why: short?.why ?? 'go on', command: resumeCommand(flow, options, short?.more) }];
  if (options.in === '-' || options.unordered) return [];
  const skip = Math.max(tally.lastRecord, options.skip ?? 0);
  const left = options.limit === undefined ? undefined : options.limit - (skip - (options.skip ?? 0));
  // What ended the run came of the last record that was wanted.
  if (left === 0) return [];
  const more = [
    ...['--skip', String(skip)],
    ...(left === undefined ? [] : ['--limit', String(left)]),
    ...(tally.failed > 0 ? ['--errors', renamed(files.errors, 'rest')] : []),
    ...(short?.more ?? []),
  ];
  return [
    {
      why: short?.why ?? 'go on behind the last record written',
      command: commandLine(flow, options, ['--force', '--resume', '--errors'], more),
    },
  ];
}

/** The same credits would again bring no record to its end. */
function shortOf({ stopReason }: Tally, { maxCredits }: RunOptions): { readonly why: string; readonly more: readonly string[] } {
  if (maxCredits === undefined || !stopReason?.includes('--max-credits'))
    return { why: 'what is left of the allowance brought no record to its end; once there is more, go on', more: [] };
  return {
    why: `${creditsText(maxCredits)} brought no record to its end: one record or batch may need more; go on with a higher N`,
    more: ['--max-credits', 'N'],
  };
}

/** The command line that goes on with this run: the one it was started with, and --resume. */
export function resumeCommand(flow: string, options: RunOptions, more: readonly string[] = []): string {
  return commandLine(flow, options, ['--force', '--resume'], ['--resume', ...more]);
}

const aboutTheInput = ['--in', '--in-format', '--delimiter', '--encoding', '--skip', '--limit', '--resume', '--force'];
const aboutTheOutput = ['--out', '--errors', '--events', '--summary'];

/** The failed records are an input like any other, whatever the first one was. */
function retryCommand(flow: string, options: RunOptions, files: OutputPlan): string {
  return commandLine(
    flow,
    options,
    [...aboutTheInput, ...aboutTheOutput],
    [
      ...['--in', files.errors],
      ...(formatOfPath(files.errors) ? [] : ['--in-format', extensionOf(files.errorsFormat, files.errors).slice(1)]),
      ...['--out', files.isStreamed ? files.out : renamed(files.out, 'retry')],
      ...(options.errors === undefined ? [] : ['--errors', renamed(files.errors, 'retry')]),
    ],
  );
}

function renamed(path: string, word: string): string {
  if (path === '-') return '-';
  return path.replace(/((?:\.[A-Za-z]+)?(?:\.gz)?)$/, `.${word}$1`);
}

const flags = new Set(['--force', '--resume', '--unordered', '--csv-safe', '--dry-run', '--allow-http', '--quiet']);

/** The command line that this run was started with, without some of its options, and with others. */
function commandLine(flow: string, options: RunOptions, without: readonly string[], more: readonly string[]): string {
  const [, , command, ...args] = process.argv;
  const kept = command === 'run' ? optionsBut(args, [...without, ...more]) : [flow, '--in', options.in, '--out', options.out];
  return ['automate', 'run', ...kept, ...more].map(shellWord).join(' ');
}

function optionsBut(args: readonly string[], without: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const [name = '', ...value] = (args[index] as string).split('=');
    const hasNext = name.startsWith('--') && value.length === 0 && !flags.has(name) && index + 1 < args.length;
    const words = hasNext ? args.slice(index, index + 2) : args.slice(index, index + 1);
    if (!without.includes(name)) kept.push(...words);
    if (hasNext) index++;
  }
  return kept;
}

import { AutomateError } from '../../core/failure.ts';
import type { InputOptions } from '../../core/run-options.ts';
import {
  concurrencyArgument,
  duration,
  maxErrorsArgument,
  outTypesArgument,
  rateArgument,
  reportName,
  wholeNumber,
  workersArgument,
} from '../arguments.ts';
import { defaultsTo, flag, grouped, negated, parsedOption, type ValuesOf, type WrittenOptions } from '../options.ts';
import {
  file,
  filesOption,
  format,
  httpOptions,
  inputOptions,
  inputsOption,
  metricsOption,
  queueNameOption,
  queueOption,
  setOption,
  varOption,
} from '../shared-options.ts';

export const runOptions = {
  ...grouped('Input', {
    in: inputsOption(
      'the input: a .csv, .tsv, .json, .jsonl or .ndjson file, one of these with .gz, an .xlsx file, or - for stdin (default: stdin, unless it is a terminal)',
      {
        about: 'input',
      },
    ),
    input: negated('--no-input', 'run the flow once, with one record that has no fields', { about: 'input' }),
    ...inputOptions,
    limit: parsedOption('--limit <n>', wholeNumber(0), 'process at most N records', { about: 'input', short: 'n' }),
    skip: parsedOption('--skip <n>', wholeNumber(0), 'skip the first N records', { about: 'input' }),
    set: setOption,
    var: varOption,
  }),
  ...grouped('Output', {
    out: defaultsTo('-', file('--out <file>', 'the output file, or - for stdout', { about: 'output', short: 'o' }), 'stdout'),
    outFormat: format(
      '--out-format <format>',
      'format of the output, as for --in-format (default: from the name of the file, or the format of the input)',
    ),
    outTypes: parsedOption(
      '--out-types <types>',
      outTypesArgument,
      'for an .xlsx output: text makes every cell a text cell (default: a column of plain numbers becomes number cells)',
      { choices: async () => ['text'] },
    ),
    errors: file('--errors <file>', 'the file for failed records, or none (default: <out>.errors.<ext>, next to the output)', {
      about: 'output',
    }),
    replace: flag(
      '--replace',
      'replace existing files, but only when the run is complete; if the output is stdout, replace the errors file',
      {
        about: 'output',
      },
    ),
    update: flag('--update', 'run only records that are new or have changed since the last run with --update', {
      about: 'output',
    }),
    maxAge: parsedOption(
      '--max-age <duration>',
      duration,
      'with --update: run a record again if its rows are older than this, such as 30d',
      {
        about: 'output',
      },
    ),
    resume: flag('--resume', 'continue an unfinished run of the same command line; do nothing if a run with --resume has completed it', {
      about: 'start',
    }),
    force: flag('--force', 'overwrite existing files', { about: 'start', short: 'f' }),
    unordered: flag('--unordered', 'write each record as soon as it is finished, instead of in input order'),
    csvSafe: flag('--csv-safe', "write ' before cells that a spreadsheet would read as a formula"),
  }),
  ...grouped('Limits', {
    concurrency: parsedOption(
      '--concurrency <n>',
      concurrencyArgument,
      'send at most N requests at once in each node; auto adapts the number to the server',
      { choices: async () => ['auto'] },
    ),
    rate: parsedOption('--rate <rate>', rateArgument, 'maximum rate of requests to each server with each credential, such as 10/s'),
    workers: parsedOption(
      '--workers <n>',
      workersArgument,
      'process the records in N processes; auto uses one fewer than the number of cores',
    ),
    queue: queueOption('let workers that watch this queue process the records: redis://host:6379, or rediss:// for TLS'),
    queueName: queueNameOption,
    waitForWorkers: parsedOption(
      '--wait-for-workers <time>',
      duration,
      'with --queue: stop the run if there is no suitable worker for this long (default: 10m)',
    ),
    maxCredits: parsedOption('--max-credits <n>', wholeNumber(0), 'spend at most N credits'),
    maxErrors: parsedOption(
      '--max-errors <n>',
      maxErrorsArgument,
      'stop if more records than this fail: a number, or a percentage such as 5%',
    ),
    keepGoing: flag('--keep-going', 'do not stop early if no server answers, or if the first records all fail in the same way'),
  }),
  ...grouped('Showing', {
    dryRun: flag(
      '--dry-run',
      'send nothing, and print how many records, requests and credits the run would need, and how long it would take',
    ),
    quiet: flag('--quiet', 'show only failures, and nothing if there are none', { short: 'q' }),
    verbose: flag('--verbose', 'show a line for each attempt, with record, node, request, status and time', { short: 'v' }),
    summary: file('--summary <file>', 'write the summary to this file, as JSON', { about: 'output' }),
    report: parsedOption('--report <file>', reportName, 'when the run has ended, write a report of it to this file, as a web page', {
      about: 'output',
    }),
    events: file('--events <file>', 'write every event of the run to this file, as NDJSON', { about: 'output' }),
    metrics: metricsOption,
  }),
  ...grouped('Requests', {
    ...httpOptions,
    files: filesOption('the folder of the input'),
  }),
};

export type GivenRunOptions = ValuesOf<typeof runOptions>;

export type GivenRun = Omit<GivenRunOptions, 'in'> & InputOptions & { readonly runsAll?: boolean };

export interface WrittenRun<Options = GivenRun> {
  readonly flow: string;
  readonly options: Options;
  readonly written: WrittenOptions;
  /** The output whose failed records are retried, as written by the user. */
  readonly retryOf?: string;
  /** True if credits are not counted, as in the demo. */
  readonly isFree?: boolean;
}

type WorkerOptions = Partial<Pick<GivenRun, 'workers' | 'queue' | 'queueName' | 'waitForWorkers'>>;

/** Throws an AutomateError (`usage`) if worker options exclude each other or lack an option that they need. */
export function refuseWorkerConflicts({ workers, queue, queueName, waitForWorkers }: WorkerOptions): void {
  if (workers !== undefined && queue !== undefined)
    throw new AutomateError(
      'usage',
      '--workers starts processes on this machine, --queue uses workers that watch a queue: expected one of the two',
    );
  if (queue !== undefined) return;
  if (queueName !== undefined)
    throw new AutomateError('usage', '--queue-name works only with --queue: add --queue, or leave --queue-name out');
  if (waitForWorkers !== undefined)
    throw new AutomateError('usage', '--wait-for-workers works only with --queue: add --queue, or leave --wait-for-workers out');
}

import type { InputOptions } from '../../app/input/input.ts';
import { concurrencyArgument, duration, maxErrorsArgument, rateArgument, reportName, wholeNumber, workersArgument } from '../arguments.ts';
import { defaultsTo, flag, grouped, negated, parsedOption, type ValuesOf, type WrittenOptions } from '../options.ts';
import {
  file,
  filesOption,
  format,
  httpOptions,
  inputOptions,
  inputsOption,
  queueNameOption,
  queueOption,
  setOption,
  varOption,
} from '../shared-options.ts';

/** The options of `automate run`. */
export const runOptions = {
  ...grouped('Input', {
    in: inputsOption(
      'the input: .csv .tsv .json .jsonl .ndjson, each also .gz, .xlsx, or - for stdin (default: stdin, unless it is a terminal)',
      {
        about: 'input',
      },
    ),
    input: negated('--no-input', 'run the flow once, over one record without fields', { about: 'input' }),
    ...inputOptions,
    limit: parsedOption('--limit <n>', wholeNumber(0), 'process at most N records', { about: 'input', short: 'n' }),
    skip: parsedOption('--skip <n>', wholeNumber(0), 'skip the first N records', { about: 'input' }),
    set: setOption,
    var: varOption,
  }),
  ...grouped('Output', {
    out: defaultsTo('-', file('--out <file>', 'the output, or - for stdout', { about: 'output', short: 'o' })),
    outFormat: format('--out-format <format>', 'format of the output (default: by its name, else as the input)'),
    errors: file('--errors <file>', 'the failed records, or none (default: <out>.errors.<ext> beside the output)', { about: 'output' }),
    replace: flag('--replace', 'keep existing files until the run is complete, then replace them; with stdout, replace the errors file', {
      about: 'output',
    }),
    update: flag('--update', 'run only records that are new or have changed since the run that wrote the output with --update', {
      about: 'output',
    }),
    maxAge: parsedOption('--max-age <duration>', duration, 'with --update, run a record again if its rows are older, such as 30d', {
      about: 'output',
    }),
    resume: flag('--resume', 'continue an earlier run of the same command line; do nothing if it is complete', { about: 'start' }),
    force: flag('--force', 'overwrite existing files', { about: 'start', short: 'f' }),
    unordered: flag('--unordered', 'write records as they finish, not in input order'),
    csvSafe: flag('--csv-safe', "put ' before cells that a spreadsheet would run as a formula"),
  }),
  ...grouped('Limits', {
    concurrency: parsedOption(
      '--concurrency <n>',
      concurrencyArgument,
      'at most N requests in flight at once, per node; auto: find the number',
      { choices: async () => ['auto'] },
    ),
    rate: parsedOption('--rate <rate>', rateArgument, 'maximum rate of requests, such as 10/s, per origin and credential'),
    workers: parsedOption('--workers <n>', workersArgument, 'pass the records in N processes; auto: one for each core but one'),
    queue: queueOption('pass the records in workers that watch this queue: redis://host:6379, or rediss:// for TLS'),
    queueName: queueNameOption,
    waitForWorkers: parsedOption(
      '--wait-for-workers <time>',
      duration,
      'end the run after this time without a worker that can do it (default: 10m)',
    ),
    maxCredits: parsedOption('--max-credits <n>', wholeNumber(0), 'spend at most N credits'),
    maxErrors: parsedOption(
      '--max-errors <n>',
      maxErrorsArgument,
      'stop once more records than this have failed: a number, or a percentage such as 5%',
    ),
    keepGoing: flag('--keep-going', 'do not stop when nobody answers, or when the first records all fail alike'),
  }),
  ...grouped('Showing', {
    dryRun: flag('--dry-run', 'send nothing: print the plan with its records, requests, credits and time'),
    quiet: flag('--quiet', 'show nothing if all goes well; else only what failed', { short: 'q' }),
    verbose: flag('--verbose', 'show a line for each attempt: record, node, request, status and time', { short: 'v' }),
    summary: file('--summary <file>', 'write the summary as JSON', { about: 'output' }),
    report: parsedOption('--report <file>', reportName, 'write the run as a page (HTML) to look at, when it has ended', {
      about: 'output',
    }),
    events: file('--events <file>', 'write every event as NDJSON', { about: 'output' }),
  }),
  ...grouped('Requests', {
    ...httpOptions,
    files: filesOption,
  }),
};

/** The options of `automate run` as they were given. */
export type GivenRunOptions = ValuesOf<typeof runOptions>;

/** The options of a run whose input is chosen. */
export type RunOptions = Omit<GivenRunOptions, 'in'> & InputOptions & { readonly runsAll?: boolean };

/** A run as the command line asks for it. */
export interface WrittenRun<Options = RunOptions> {
  readonly flow: string;
  readonly options: Options;
  readonly written: WrittenOptions;
  /** The output whose failed records are retried, as it was named; absent for a run of other records. */
  readonly retryOf?: string;
  /** True if its credits are not counted, as in the demo. */
  readonly isFree?: boolean;
}

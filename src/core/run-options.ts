import { durationMs, rateIntervalMs } from './duration.ts';
import { type NoticeCondition, type NoticeTarget, noticeConditions, noticeTargets } from './notice.ts';
import type { Concurrency } from './options/amounts.ts';

/** The texts and values that an option can have, on the command line and in a query of the server. */
export interface OptionType<Value> {
  /** The continuation of "expected" in messages. */
  readonly expected: string;
  /** Undefined for any other text. `before` is the value so far of an option that is repeated. */
  parse(text: string, before?: Value): Value | undefined;
  /** All texts, if there are few. */
  readonly choices?: readonly string[];
  readonly isRepeatable?: true;
  /** True if the option can be given without a value. Its value is then that of an empty text. */
  readonly isOptional?: true;
  /** True if the text may be a secret, which no message shows. */
  readonly isSecret?: true;
}

/** An option of a run. Command line, server, retry, identity of a run and reference derive from it. */
interface RunOption {
  // biome-ignore lint/suspicious/noExplicitAny: the table's own types say what each value is.
  readonly type: OptionType<any>;
  /** `{name}` stands for another option, in the way in which the reader writes it. */
  readonly help: string;
  readonly group: 'Input' | 'Output' | 'Limits' | 'Showing' | 'Requests';
  /**
   * The part of a run that it affects; undefined if it affects the way in which records are processed. Suggested commands that run other
   * records, or write other files, leave out the options that no longer fit.
   */
  readonly about?: 'input' | 'output' | 'start';
  /** The name of its value in the help; undefined for a flag. */
  readonly value?: string;
  /** Its letter on the command line. */
  readonly short?: string;
  /** The value if the option is not given, and that value in the words of the help. */
  readonly default?: unknown;
  readonly defaultText?: string;
  /** Part of the identity of a run: a resumed run must read its input, or write its output, in the same way. */
  readonly identity?: 'reading' | 'writing';
  /** A retry of the failed records has the value of the run. */
  readonly lasts?: true;
  /** `automate retry` has the option, too. */
  readonly retry?: true;
  /** Callers of a server can give it. */
  readonly http?: true;
}

const text: OptionType<string> = { expected: 'a text', parse: (text) => text };

const flag: OptionType<boolean> = {
  expected: 'true or false',
  choices: ['true', 'false', ''],
  parse: (text) => (text === 'false' ? false : text === 'true' || text === '' ? true : undefined),
};

/** A shell variable that is not set gives an empty name. */
export const fileName: OptionType<string> = { expected: 'the name of a file', parse: (text) => (text === '' ? undefined : text) };

/** A report is moved into place when it is complete, which is possible only with a file. */
export const reportName: OptionType<string> = { ...fileName, parse: (text) => (text === '' || text === '-' ? undefined : text) };

export function wholeNumber(least: number): OptionType<number> {
  return {
    expected: `a whole number of at least ${least}`,
    parse: (text) => (/^\d+$/.test(text) && Number(text) >= least ? Number(text) : undefined),
  };
}

export const duration: OptionType<number> = { expected: 'a duration such as 30s or 30d', parse: durationMs };

/** Without a unit, most people mean days, and the ms of other durations would make every age too old. */
const age: OptionType<number> = {
  expected: 'a duration with its unit, such as 30d',
  parse: (text) => (/^0*[1-9]\d*$/.test(text) ? undefined : durationMs(text)),
};

const rate: OptionType<number> = { expected: 'a rate such as 10/s, 600/min, 5000/h', parse: rateIntervalMs };

const concurrency: OptionType<Concurrency> = {
  expected: 'a whole number of at least 1, or auto',
  choices: ['auto'],
  parse: (text) => (text === 'auto' ? text : wholeNumber(1).parse(text)),
};

/** Number of child processes. `auto` is one fewer than the number of cores. */
export type WorkerCount = number | 'auto';

const mostWorkers = 256;

const workerCount: OptionType<WorkerCount> = {
  expected: `auto or 1 to ${mostWorkers}`,
  parse(text) {
    const count = wholeNumber(1).parse(text);
    return text === 'auto' || (count !== undefined && count <= mostWorkers) ? (count ?? 'auto') : undefined;
  },
};

/** A count, or a share of the finished records. */
export type CountOrShare = { readonly count: number } | { readonly share: number };

const countOrShare: OptionType<CountOrShare> = {
  expected: 'a number or a percentage such as 5%',
  parse(text) {
    const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
    if (percent === '%') return Number(number) <= 100 ? { share: Number(number) / 100 } : undefined;
    return /^\d+$/.test(text) ? { count: Number(text) } : undefined;
  },
};

/** True to use kept answers of any age, or the maximum age in ms. */
type KeptAge = true | number;

const keptAge: OptionType<KeptAge> = {
  expected: 'nothing, or a duration with its unit, such as 30d',
  isOptional: true,
  parse: (text) => (text === '' ? true : age.parse(text)),
};

const size: OptionType<number> = {
  expected: 'a size such as 10GB',
  parse(text) {
    const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmg]?)b?$/i.exec(text) ?? [];
    return number === undefined ? undefined : Number(number) * 1000 ** ' kmg'.indexOf(unit.toLowerCase() || ' ');
  },
};

const columnList: OptionType<readonly string[]> = {
  expected: 'the names of columns, with commas',
  parse(text) {
    const names = [...new Set(text.split(',').map((name) => name.trim()))];
    return names.includes('') ? undefined : names;
  },
};

type OutTypes = 'text';

const outTypes: OptionType<OutTypes> = { expected: 'text', choices: ['text'], parse: (text) => (text === 'text' ? text : undefined) };

/** The network address at which metrics are served. Port 0 is any free port. */
export interface NetworkAddress {
  readonly host: string;
  readonly port: number;
}

/** Only this machine can reach a port without a host. */
const address: OptionType<NetworkAddress> = {
  expected: 'a port, or HOST:PORT such as 0.0.0.0:9464',
  parse(text) {
    const [, ipv6, name, digits] = /^(?:(?:\[([\da-fA-F:.]+)\]|([^\s:/@[\]]+)):)?(\d{1,5})$/.exec(text) ?? [];
    return digits !== undefined && Number(digits) <= 65_535 ? { host: ipv6 ?? name ?? '127.0.0.1', port: Number(digits) } : undefined;
  },
};

/** Values of options that are repeated, in the order in which they are given. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** The fields that are set for every record. */
export type SetFields = Pairs;

/** Values that the user or a caller gives to variables of the flow. They override the values in the flow file. */
export type GivenVariables = Pairs;

function pairs(pattern: RegExp, more: Pick<OptionType<Pairs>, 'expected' | 'isSecret'>): OptionType<Pairs> {
  return {
    ...more,
    isRepeatable: true,
    parse(text, before = []) {
      const [, name, value] = pattern.exec(text) ?? [];
      return name !== undefined && value !== undefined ? [...before, [name, value]] : undefined;
    },
  };
}

const setFields = pairs(/^([^=]+)=([\s\S]*)$/, { expected: 'field=value' });

const variables = pairs(/^([A-Za-z_][A-Za-z0-9_]*)=([\s\S]*)$/, { expected: 'NAME=VALUE, such as region=eu', isSecret: true });

export const runOptions = {
  inFormat: {
    group: 'Input',
    about: 'input',
    type: text,
    value: '<format>',
    help: 'format of the input: csv, tsv, json, ndjson, one of these with .gz, or xlsx (default: from the name of the file; detected for stdin)',
    identity: 'reading',
  },
  delimiter: {
    group: 'Input',
    about: 'input',
    type: text,
    value: '<character>',
    help: 'delimiter of a CSV input (default: a comma, or else the semicolon, tab or | of the header; a tab for TSV)',
    identity: 'reading',
    retry: true,
    http: true,
  },
  sheet: {
    group: 'Input',
    about: 'input',
    type: text,
    value: '<name>',
    help: 'sheet of an Excel input, such as "Customers 2026" (default: the first one)',
    identity: 'reading',
    http: true,
  },
  headerLine: {
    group: 'Input',
    about: 'input',
    type: wholeNumber(1),
    value: '<n>',
    help: 'line of the header in a CSV input, or row in an Excel input: what stands above is skipped (default: the first that is not empty)',
    identity: 'reading',
    http: true,
  },
  noHeader: {
    group: 'Input',
    about: 'input',
    type: flag,
    help: 'the first row of a CSV or Excel input is a record, not a header; the columns are called column_1, column_2 and so on',
    identity: 'reading',
    http: true,
  },
  ragged: {
    group: 'Input',
    about: 'input',
    type: flag,
    help: 'fill rows of a CSV input that are too short with empty cells, and leave out empty cells after the last column',
    identity: 'reading',
    http: true,
  },
  escape: {
    group: 'Input',
    about: 'input',
    type: text,
    value: '<character>',
    help: 'character before a quote inside quotes in a CSV input, such as \\ (default: a second quote)',
    identity: 'reading',
    http: true,
  },
  trim: {
    group: 'Input',
    about: 'input',
    type: flag,
    help: 'leave out blanks around the cells of a CSV input, also before and after their quotes',
    identity: 'reading',
    http: true,
  },
  encoding: {
    group: 'Input',
    about: 'input',
    type: text,
    value: '<name>',
    help: 'encoding of the input, such as latin1 or utf-16 (default: utf-8)',
    identity: 'reading',
    retry: true,
  },
  records: {
    group: 'Input',
    about: 'input',
    type: text,
    value: '<path>',
    help: 'path of the list of records in a JSON input, such as data.items, or [] for one object that is a record, or whose values are the records (default: the whole input is the list)',
    identity: 'reading',
    http: true,
  },
  limit: {
    group: 'Input',
    about: 'input',
    type: wholeNumber(0),
    value: '<n>',
    short: 'n',
    help: 'process at most N records',
    identity: 'reading',
    http: true,
  },
  skip: {
    group: 'Input',
    about: 'input',
    type: wholeNumber(0),
    value: '<n>',
    help: 'skip the first N records',
    identity: 'reading',
    http: true,
  },
  set: {
    group: 'Input',
    type: setFields,
    value: '<field=value>',
    help: 'set this field of every record, even if the input has it; can be repeated',
    default: [],
    defaultText: 'none',
    lasts: true,
  },
  var: {
    group: 'Input',
    type: variables,
    value: '<name=value>',
    help: 'set a variable of the flow; can be repeated',
    default: [],
    defaultText: 'the values in the flow',
    lasts: true,
    retry: true,
  },
  out: {
    group: 'Output',
    about: 'output',
    type: fileName,
    value: '<file>',
    short: 'o',
    help: 'the output file, or - for stdout',
    default: '-',
    defaultText: 'stdout',
  },
  outFormat: {
    group: 'Output',
    type: text,
    value: '<format>',
    help: 'format of the output, as for {inFormat} (default: from the name of the file, or the format of the input)',
  },
  outDelimiter: {
    group: 'Output',
    type: text,
    value: '<character>',
    help: 'delimiter of a CSV output and of the errors file (default: a comma, or a tab for TSV)',
  },
  outBom: {
    group: 'Output',
    type: flag,
    help: 'begin a CSV output and the errors file with a byte order mark, by which Excel recognizes UTF-8',
  },
  outTypes: {
    group: 'Output',
    type: outTypes,
    value: '<types>',
    help: 'for an .xlsx output: text makes every cell a text cell (default: a column of plain numbers becomes number cells)',
  },
  errors: {
    group: 'Output',
    about: 'output',
    type: fileName,
    value: '<file>',
    help: 'the file for failed records, or none (default: <out>.errors.<ext>, next to the output)',
    retry: true,
  },
  replace: {
    group: 'Output',
    about: 'output',
    type: flag,
    help: 'replace existing files, but only when the run is complete; if the output is stdout, replace the errors file',
    identity: 'writing',
  },
  update: {
    group: 'Output',
    about: 'output',
    type: flag,
    help: 'run only records that are new or have changed since the last run with {update}',
    identity: 'writing',
  },
  maxAge: {
    group: 'Output',
    about: 'output',
    type: age,
    value: '<duration>',
    help: 'with {update}: run a record again if its rows are older than this, such as 30d',
    identity: 'writing',
  },
  gone: {
    group: 'Output',
    about: 'output',
    type: reportName,
    value: '<file>',
    help: 'with {update}: write to this file the rows of the old output whose records have disappeared from the input',
  },
  goneKey: {
    group: 'Output',
    about: 'output',
    type: columnList,
    value: '<columns>',
    help: 'with {gone}: the column of the input that identifies a record, or several with commas',
    identity: 'writing',
  },
  maxGone: {
    group: 'Output',
    about: 'output',
    type: countOrShare,
    value: '<n>',
    help: 'with {gone}: replace nothing if more records than this are gone: a number, or a percentage such as 5%',
    defaultText: '20%',
  },
  resume: {
    group: 'Output',
    about: 'start',
    type: flag,
    help: 'continue an unfinished run of the same command line; do nothing if a run with {resume} has completed it',
    retry: true,
  },
  force: { group: 'Output', about: 'start', type: flag, short: 'f', help: 'overwrite existing files', retry: true },
  unordered: {
    group: 'Output',
    type: flag,
    help: 'write each record as soon as it is finished, instead of in input order',
    identity: 'writing',
    lasts: true,
    http: true,
  },
  csvSafe: {
    group: 'Output',
    type: flag,
    help: "write ' before cells that a spreadsheet would read as a formula",
    identity: 'writing',
    lasts: true,
    http: true,
  },
  concurrency: {
    group: 'Limits',
    type: concurrency,
    value: '<n>',
    help: 'send at most N requests at once in each node; auto adapts the number to the server',
    lasts: true,
    retry: true,
  },
  /** Minimum time in ms between the starts of two requests to the same origin with the same credential. */
  rate: {
    group: 'Limits',
    type: rate,
    value: '<rate>',
    help: 'maximum rate of requests to each server with each credential, such as 10/s',
    lasts: true,
    retry: true,
  },
  workers: {
    group: 'Limits',
    type: workerCount,
    value: '<n>',
    help: 'process the records in N processes; auto uses one fewer than the number of cores',
    retry: true,
  },
  queue: {
    group: 'Limits',
    type: text,
    value: '<url>',
    help: 'let workers that watch this queue process the records: redis://host:6379, or rediss:// for TLS; the queue key is in AUTOMATE_QUEUE_KEY',
    retry: true,
  },
  queueName: {
    group: 'Limits',
    type: text,
    value: '<name>',
    help: 'name of the queue, if several teams share one Redis (default: a queue named default)',
    retry: true,
  },
  waitForWorkers: {
    group: 'Limits',
    type: duration,
    value: '<time>',
    help: 'with {queue}: stop the run if there is no suitable worker for this long (default: 10m)',
    retry: true,
  },
  maxKept: {
    group: 'Limits',
    type: size,
    value: '<size>',
    help: 'with {keepAnswers}: keep no more answers once their file has this size (default: 10GB)',
    lasts: true,
    retry: true,
  },
  maxCredits: { group: 'Limits', type: wholeNumber(0), value: '<n>', help: 'spend at most N credits', retry: true, http: true },
  maxErrors: {
    group: 'Limits',
    type: countOrShare,
    value: '<n>',
    help: 'stop if more records than this fail: a number, or a percentage such as 5%',
    retry: true,
    http: true,
  },
  keepGoing: {
    group: 'Limits',
    type: flag,
    help: 'do not stop early if no server answers, or if the first records all fail in the same way',
    retry: true,
  },
  pilot: {
    group: 'Limits',
    type: wholeNumber(1),
    value: '<n>',
    help: 'first run only N records: the first, the last, and others at random; show what they found and what the rest will take, then ask before the rest is run',
  },
  dryRun: {
    group: 'Showing',
    type: flag,
    help: 'send nothing, and print how many records, requests and credits the run would need, and how long it would take',
  },
  quiet: { group: 'Showing', type: flag, short: 'q', help: 'show only failures, and nothing if there are none', retry: true },
  verbose: {
    group: 'Showing',
    type: flag,
    short: 'v',
    help: 'show a line for each attempt, with record, node, request, status and time',
    retry: true,
  },
  summary: {
    group: 'Showing',
    about: 'output',
    type: fileName,
    value: '<file>',
    help: 'write the summary to this file, as JSON',
    retry: true,
  },
  report: {
    group: 'Showing',
    about: 'output',
    type: reportName,
    value: '<file>',
    help: 'when the run has ended, write a report of it to this file, as a web page',
    retry: true,
  },
  events: {
    group: 'Showing',
    about: 'output',
    type: fileName,
    value: '<file>',
    help: 'write every event of the run to this file, as NDJSON',
    retry: true,
  },
  metrics: {
    group: 'Showing',
    type: address,
    value: '<address>',
    help: 'serve metrics for Prometheus at HOST:PORT; without HOST, only this machine can read them; port 0 is any free port',
    retry: true,
  },
  keepAnswers: {
    group: 'Requests',
    type: keptAge,
    value: '[age]',
    help: 'keep the answers in <out>.automate-answers, and use those of earlier runs instead of equal requests, unless they are older than this, such as 30d',
    lasts: true,
    retry: true,
  },
  replay: {
    group: 'Requests',
    type: flag,
    help: 'send nothing: use the answers that earlier runs with {keepAnswers} have kept, without credentials and network',
    retry: true,
  },
  notify: {
    group: 'Showing',
    type: noticeTargets as OptionType<readonly NoticeTarget[]>,
    value: '<kind:credential>',
    help: 'send a message when the run has ended: slack, webhook or ping, and the credential whose secret is the address (default: $AUTOMATE_NOTIFY)',
    retry: true,
  },
  notifyIf: {
    group: 'Showing',
    type: noticeConditions as OptionType<readonly NoticeCondition[]>,
    value: '<conditions>',
    help: 'send it only if one of these is true, separated by commas: failed, failed>1%, failed>10, stopped, read=0, took>30m, always',
    defaultText: 'failed,stopped',
    retry: true,
  },
  env: {
    group: 'Requests',
    type: text,
    value: '<name>',
    help: 'environment for credentials and variables, such as staging (default: $AUTOMATE_ENV, or default)',
    lasts: true,
  },
  allowHttp: {
    group: 'Requests',
    type: flag,
    help: 'allow http:// URLs, which are not encrypted, to other machines',
    lasts: true,
    retry: true,
  },
  cacert: {
    group: 'Requests',
    type: fileName,
    value: '<file>',
    help: 'file with more certificate authorities to trust (PEM)',
    lasts: true,
    retry: true,
  },
  files: {
    group: 'Requests',
    type: fileName,
    value: '<dir>',
    help: 'folder below which flows can send and save files, such as documents (default: the folder of the input)',
    lasts: true,
    retry: true,
  },
} as const satisfies Readonly<Record<string, RunOption>>;

type RunOptionTable = typeof runOptions;

export type RunOptionName = keyof RunOptionTable;

export type RunOptionValue<Name extends RunOptionName> = RunOptionTable[Name]['type'] extends OptionType<infer Value> ? Value : never;

export type NamesWith<Property extends keyof RunOption, Value> = {
  [Name in RunOptionName]: RunOptionTable[Name] extends { readonly [_ in Property]: Value } ? Name : never;
}[RunOptionName];

/** The names of the options whose property has this value, such as `http`, true. */
export function optionsWith<Property extends keyof RunOption, const Value>(
  property: Property,
  value: Value,
): readonly NamesWith<Property, Value>[] {
  const all: Readonly<Record<string, RunOption>> = runOptions;
  return Object.keys(all).filter((name) => all[name]?.[property] === value) as NamesWith<Property, Value>[];
}

/** The values of some options. Those that were not given are undefined. */
export function valuesOf<Name extends RunOptionName>(options: Partial<RunOptions>, names: readonly Name[]): Pick<RunOptions, Name> {
  return Object.fromEntries(names.map((name) => [name, options[name]])) as Pick<RunOptions, Name>;
}

/** The options of a run. Those that were not given are undefined. */
export interface RunOptions extends Readonly<{ [Name in Exclude<RunOptionName, 'out'>]?: RunOptionValue<Name> }> {
  /** A file, or `-` for stdin. */
  readonly in: string;
  /** Further files with the same columns, read after `in`; undefined for a single input. */
  readonly moreIn?: readonly string[];
  /** True for a run without input, which processes a single record without fields. */
  readonly noInput?: boolean;
  /** Undefined to use the default of the file reader. */
  readonly maxRecordBytes?: number;
  readonly out: string;
  /** With `update`: no rows are reused. */
  readonly runsAll?: boolean;
}

export type InputOptions = Pick<
  RunOptions,
  | 'in'
  | 'moreIn'
  | 'noInput'
  | 'maxRecordBytes'
  | 'inFormat'
  | 'delimiter'
  | 'encoding'
  | 'records'
  | 'sheet'
  | 'headerLine'
  | 'noHeader'
  | 'ragged'
  | 'escape'
  | 'trim'
>;

export type OutputOptions = Pick<RunOptions, 'in' | 'out' | 'outFormat' | 'outDelimiter' | 'outBom' | 'outTypes' | 'errors' | 'gone'>;

export type SessionOptions = Pick<RunOptions, 'env' | 'cacert' | 'allowHttp' | 'files' | 'maxCredits'>;

/** The name of the environment that is used if the user specifies none. */
export const defaultEnv = 'default';

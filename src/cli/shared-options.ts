import type { InputOptions } from '../core/run-options.ts';
import { addressArgument, fileName, inputNames, setArgument, variableArgument } from './arguments.ts';
import { argument, type Declared, defaultsTo, flag, parsedOption, textOption, type ValuesOf } from './options.ts';

const formatNames = async () => (await import('../records/format.ts')).formatNames;

export const flow = argument('<flow>', 'the flow file (YAML)', { parse: fileName });

export function file(flags: string, help: string, more?: Pick<Declared<unknown>, 'about' | 'short'>): Declared<string | undefined> {
  return parsedOption(flags, fileName, help, more);
}

export function format(flags: string, help: string, more?: Pick<Declared<unknown>, 'about'>): Declared<string | undefined> {
  return textOption(flags, help, { choices: formatNames, ...more });
}

export function inputsOption(help: string, more?: Pick<Declared<unknown>, 'about'>): Declared<string[] | undefined> {
  return parsedOption('--in <file>', inputNames, `${help}; repeat --in to read several files as one`, {
    short: 'i',
    isRepeatable: true,
    ...more,
  });
}

export type WithInputs<Options> = Omit<Options, 'in'> & Partial<Pick<InputOptions, 'in' | 'moreIn'>>;

export function withInputs<Options extends { readonly in?: readonly string[] }>({
  in: inputs = [],
  ...options
}: Options): WithInputs<Options> {
  const [first, ...more] = inputs;
  return { ...options, ...(first !== undefined && { in: first }), ...(more.length > 0 && { moreIn: more }) };
}

/** Every command that reads an input has these options. */
export const inputOptions = {
  inFormat: format(
    '--in-format <format>',
    'format of the input: csv, tsv, json, ndjson, one of these with .gz, or xlsx (default: from the name of the file; detected for stdin)',
    {
      about: 'input',
    },
  ),
  delimiter: textOption('--delimiter <character>', 'delimiter of a CSV input (default: a comma, or a tab for TSV)', { about: 'input' }),
  sheet: textOption('--sheet <name>', 'sheet of an Excel input, such as "Customers 2026" (default: the first one)', { about: 'input' }),
  encoding: textOption('--encoding <name>', 'encoding of the input, such as latin1 or utf-16le (default: utf-8)', { about: 'input' }),
  records: textOption(
    '--records <path>',
    'path of the list of records in a JSON input, such as data.items (default: the whole input is the list)',
    {
      about: 'input',
    },
  ),
};

export type ReadingOptions = ValuesOf<typeof inputOptions>;

const cacertHelp = 'file with more certificate authorities to trust (PEM)';

/** `when` is put before the help text if the option applies to only part of the command. */
export function envOption(when = ''): Declared<string | undefined> {
  return textOption(
    '--env <name>',
    `${when}environment for credentials and variables, such as staging (default: $AUTOMATE_ENV, or default)`,
  );
}

export function queueOption(help: string): Declared<string | undefined> {
  return textOption('--queue <url>', `${help}; the queue key is in AUTOMATE_QUEUE_KEY`);
}

export const queueNameOption = textOption(
  '--queue-name <name>',
  'name of the queue, if several teams share one Redis (default: a queue named default)',
);

export const metricsOption = parsedOption(
  '--metrics <address>',
  addressArgument,
  'serve metrics for Prometheus at HOST:PORT; without HOST, only this machine can read them; port 0 is any free port',
);

export function cacertOption(when = ''): Declared<string | undefined> {
  return file('--cacert <file>', when + cacertHelp);
}

/** Options of every command that sends requests. */
export const httpOptions = {
  env: envOption(),
  allowHttp: flag('--allow-http', 'allow http:// URLs, which are not encrypted, to other machines'),
  cacert: cacertOption(),
};

export type HttpOptions = ValuesOf<typeof httpOptions>;

export const filesOption = (defaultFolder: string) =>
  file('--files <dir>', `folder below which flows can send and save files, such as documents (default: ${defaultFolder})`);

export const varOption = defaultsTo(
  [],
  parsedOption('--var <name=value>', variableArgument, 'set a variable of the flow; can be repeated', {
    isRepeatable: true,
  }),
  'the values in the flow',
);

export const setOption = defaultsTo(
  [],
  parsedOption('--set <field=value>', setArgument, 'set this field of every record, even if the input has it; can be repeated', {
    isRepeatable: true,
  }),
  'none',
);

export const json = flag('--json', 'print JSON instead of text');

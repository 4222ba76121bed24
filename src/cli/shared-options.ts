import type { InputOptions } from '../app/input/input.ts';
import { fileName, inputNames, setArgument, variableArgument } from './arguments.ts';
import { argument, type Declared, defaultsTo, flag, parsedOption, textOption } from './options.ts';

const formatNames = async () => (await import('../io/records/format.ts')).formatNames;

/** The flow file. */
export const flow = argument('<flow>', 'the flow file (YAML)', { parse: fileName });

/** An option that names a file. */
export function file(flags: string, help: string, more?: Pick<Declared<unknown>, 'about' | 'short'>): Declared<string | undefined> {
  return parsedOption(flags, fileName, help, more);
}

/** An option that names a format of records. */
export function format(flags: string, help: string, more?: Pick<Declared<unknown>, 'about'>): Declared<string | undefined> {
  return textOption(flags, help, { choices: formatNames, ...more });
}

/** The inputs of a command. */
export function inputsOption(help: string, more?: Pick<Declared<unknown>, 'about'>): Declared<string[] | undefined> {
  return parsedOption('--in <file>', inputNames, `${help}; several, each with --in, are read as one`, {
    short: 'i',
    isRepeatable: true,
    ...more,
  });
}

/** Options whose inputs are named as a run takes them. */
export type WithInputs<Options> = Omit<Options, 'in'> & Partial<Pick<InputOptions, 'in' | 'moreIn'>>;

/** The options with the first input and the others. */
export function withInputs<Options extends { readonly in?: readonly string[] }>({
  in: inputs = [],
  ...options
}: Options): WithInputs<Options> {
  const [first, ...more] = inputs;
  return { ...options, ...(first !== undefined && { in: first }), ...(more.length > 0 && { moreIn: more }) };
}

/** The format of the input, for every command that reads one. */
export const inputOptions = {
  inFormat: format(
    '--in-format <format>',
    'format of the input: csv, tsv, json or ndjson, each also with .gz, or xlsx (default: by its name; stdin tells it)',
    {
      about: 'input',
    },
  ),
  delimiter: textOption('--delimiter <character>', 'delimiter of a CSV input (default: comma, tab for TSV)', { about: 'input' }),
  sheet: textOption('--sheet <name>', 'sheet of an Excel input, such as "Customers 2026" (default: the first)', { about: 'input' }),
  encoding: textOption('--encoding <name>', 'encoding of the input, such as latin1 or utf-16le (default: utf-8)', { about: 'input' }),
  records: textOption('--records <path>', 'the list of records in a JSON object, such as data.items (default: the JSON is the list)', {
    about: 'input',
  }),
};

const cacertHelp = "trust this file's certificate authorities (PEM) as well";

/** The environment of the credentials. `when`: a prefix of the help, if it does not apply to the whole command. */
export function envOption(when = ''): Declared<string | undefined> {
  return textOption(
    '--env <name>',
    `${when}environment of the credentials and variables, such as staging (default: AUTOMATE_ENV, else default)`,
  );
}

/** The queue that runs and workers share. */
export function queueOption(help: string): Declared<string | undefined> {
  return textOption('--queue <url>', help);
}

/** The name of the queue. */
export const queueNameOption = textOption('--queue-name <name>', 'the queue, if several teams share one Redis (default: default)');

/** Additional certificate authorities. */
export function cacertOption(when = ''): Declared<string | undefined> {
  return file('--cacert <file>', when + cacertHelp);
}

/** For every command that sends requests. */
export const httpOptions = {
  env: envOption(),
  allowHttp: flag('--allow-http', 'allow http:// URLs to other machines'),
  cacert: cacertOption(),
};

/** The folder for the files of records. */
export const filesOption = file(
  '--files <dir>',
  'send and save files only below this folder, such as documents (default: the folder of the input)',
);

/** Values of a flow's variables. */
export const varOption = defaultsTo(
  [],
  parsedOption('--var <name=value>', variableArgument, 'give a variable of the flow this value; may be repeated', {
    isRepeatable: true,
  }),
  'as in the flow',
);

/** Fields that are set by hand. */
export const setOption = defaultsTo(
  [],
  parsedOption('--set <field=value>', setArgument, 'give every record this field, or overwrite it; may be repeated', {
    isRepeatable: true,
  }),
  'none',
);

/** Prints JSON rather than a table. */
export const json = flag('--json', 'print JSON');

import { usageError } from '../core/failure.ts';
import { type InputOptions, type OptionType, type RunOptionName, type RunOptionValue, runOptions } from '../core/run-options.ts';
import { optionFlag } from './advice.ts';
import { fileName, inputNames, parser } from './arguments.ts';
import { argument, type Declared, flag, parsedOption, type ValuesOf } from './options.ts';

export const flow = argument('<flow>', 'the flow file (YAML)', { parse: fileName });

/** For a command that takes one flow, and its input in an option. */
export function oneFlow(command: string): string {
  return `too many arguments: expected one flow\nwrite --in before each input file, for example: --in a.csv --in b.csv\n(see automate ${command} --help)`;
}

export function file(flags: string, help: string): Declared<string | undefined> {
  return parsedOption(flags, fileName, help);
}

type GivenValue<Name extends RunOptionName> = (typeof runOptions)[Name] extends { readonly default: unknown }
  ? RunOptionValue<Name>
  : RunOptionValue<Name> | undefined;

interface AnyRunOption {
  readonly type: OptionType<unknown>;
  readonly group: string;
  readonly value?: string;
  readonly help: string;
  readonly default?: unknown;
}

/** An option of a run, for a command that has it, too. */
export function runOption<Name extends RunOptionName>(name: Name, help: string = runOptions[name].help): Declared<GivenValue<Name>> {
  const { type, value, group: _, ...option }: AnyRunOption = runOptions[name];
  const flags = value === undefined ? optionFlag(name) : `${optionFlag(name)} ${value}`;
  const parse = value === undefined ? undefined : type.isSecret ? secretParser(type, name) : parser(type);
  const choices = formats.includes(name) ? formatNames : type.choices && (async () => type.choices ?? []);
  const written = help.replace(/\{(\w+)\}/g, (_, other: string) => optionFlag(other));
  return { ...option, flags, help: written, parse, choices, isRepeatable: type.isRepeatable } as Declared<GivenValue<Name>>;
}

/** The error does not show the text. */
function secretParser<Value>({ expected, parse }: OptionType<Value>, name: string): (text: string, before?: Value) => Value {
  return (text, before) => {
    const value = parse(text, before);
    if (value !== undefined) return value;
    throw usageError(`${optionFlag(name)}: expected ${expected}`);
  };
}

const formats: readonly string[] = ['inFormat', 'outFormat'];

const formatNames = async () => (await import('../records/formats.ts')).formatNames;

export type DeclaredOptions<Name extends RunOptionName> = { readonly [One in Name]: Declared<GivenValue<One>> };

export function runOptionsNamed<Name extends RunOptionName>(names: readonly Name[]): DeclaredOptions<Name> {
  return Object.fromEntries(names.map((name) => [name, runOption(name)])) as DeclaredOptions<Name>;
}

/** The help lists options of a run under the headings of the table. */
export function underHeadings<Options extends Partial<DeclaredOptions<RunOptionName>>>(options: Options): Options {
  const all = Object.entries(options as Readonly<Record<string, Declared<unknown>>>);
  return Object.fromEntries(all.map(([name, option]) => [name, { ...option, group: runOptions[name as RunOptionName].group }])) as Options;
}

export function inputsOption(help: string): Declared<readonly string[] | undefined> {
  const more = { about: 'input', short: 'i', isRepeatable: true } as const;
  return parsedOption<readonly string[]>('--in <file>', inputNames, `${help}; repeat --in to read several files as one`, more);
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
export const inputOptions = runOptionsNamed([
  'inFormat',
  'delimiter',
  'sheet',
  'headerLine',
  'noHeader',
  'ragged',
  'escape',
  'trim',
  'encoding',
  'records',
]);

export type ReadingOptions = ValuesOf<typeof inputOptions>;

/** `when` is put before the help text if the option applies to only part of the command. */
export function envOption(when = ''): Declared<string | undefined> {
  return runOption('env', when + runOptions.env.help);
}

export function cacertOption(when = ''): Declared<string | undefined> {
  return runOption('cacert', when + runOptions.cacert.help);
}

export const httpOptions = runOptionsNamed(['env', 'allowHttp', 'cacert']);

export type SendingOptions = ValuesOf<typeof httpOptions>;

export const varOption = runOption('var');

export const setOption = runOption('set');

export const json = flag('--json', 'print JSON instead of text');

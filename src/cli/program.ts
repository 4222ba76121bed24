import { Argument, Command, Help, Option } from 'commander';
import { usageError } from '../core/failure.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { version } from '../core/version.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { commands, loadCommand } from './commands.ts';
import type { CommandSpec, Declared } from './options.ts';
import type { Terminal } from './terminal.ts';

interface CommandOutcome {
  exit(code: number): void;
  help(text: string): void;
}

const firstExamples = [
  'automate demo',
  'automate init --in rows.csv',
  'automate test-request flow.yaml --in rows.csv',
  'automate run flow.yaml --in rows.csv --out out.csv',
];

/** Creates the command-line parser. It knows the names of all commands, and the options of those that are `loaded`. */
export function createProgram(loaded: readonly CommandSpec[], terminal: Terminal, { exit, help }: CommandOutcome): Command {
  const listed = new Map<Command, string>();
  const program = new Command('automate')
    .description('Sends HTTP requests for every record of a CSV or JSON file, and writes the records with the answers in them.')
    .version(version)
    .addHelpText(
      'after',
      `\nExamples:\n${firstExamples.map((line) => `  ${line}`).join('\n')}\n\nFor the options of a command, with examples: automate COMMAND --help\nDocumentation: the docs folder of this package, or man automate for a summary.`,
    )
    .showSuggestionAfterError()
    .showHelpAfterError('(see automate --help)')
    .configureOutput({
      writeOut: help,
      outputError: (text, write) => write(withoutValues(text.replace(/^error: /, 'automate: '))),
    })
    .configureHelp({ subcommandTerm: (command) => listed.get(command) ?? Help.prototype.subcommandTerm(command) })
    .exitOverride();
  for (const { name, usage, help } of commands) {
    const spec = loaded.find((command) => command.name === name);
    if (spec) addCommand(program, spec, { terminal, exit });
    else listed.set(program.command(name).description(help), usage === undefined ? name : `${name} ${usage}`);
  }
  return program;
}

/** Options that other programs have, under the names that they have here. The parser suggests `--no-input` for `--input`. */
const otherNames: Readonly<Record<string, string>> = {
  '--input': '--in',
  '--output': '--out',
  '--overwrite': '--replace',
  '--continue': '--resume',
  '--silent': '--quiet',
  '--debug': '--verbose',
  '--parallel': '--concurrency',
  '--separator': '--delimiter',
};

/** Throws an AutomateError (`usage`) with the way out for a word that the parser does not know, and that people try first. */
export function refuseOtherWords(argv: readonly string[], { name, options = {} }: Partial<CommandSpec> = {}): void {
  const [first = ''] = argv.slice(2);
  if (name === undefined && /\.ya?ml$/i.test(first))
    throw usageError(`expected a command, found "${first}"\nto run this flow: automate run ${shellWord(first)}\n(see automate --help)`);
  if (name === undefined && (first === 'version' || first === '-v'))
    throw usageError(`expected a command, found "${first}"; did you mean --version?\n(see automate --help)`);
  const known = new Set(Object.values(options).map(({ flags }) => flags.split(' ')[0]));
  for (const word of argv) {
    const [flag = ''] = word.split('=');
    const meant = Object.hasOwn(otherNames, flag) ? otherNames[flag] : undefined;
    if (known.has(meant) && !known.has(flag))
      throw usageError(`unknown option '${flag}'\n(Did you mean ${meant}?)\n(see automate ${name} --help)`);
  }
}

const allCommands = () => Promise.all(commands.map(loadCommand));

type ProgramContext = { readonly terminal: Terminal } & Pick<CommandOutcome, 'exit'>;

function addCommand(parent: Command, spec: CommandSpec, context: ProgramContext): void {
  const { name, help, args = {}, options = {}, examples, footer, commands = [] } = spec;
  const command = parent.command(name).description(help);
  for (const declared of Object.values(args)) command.addArgument(argumentOf(declared));
  for (const [name, declared] of Object.entries(options)) command.addOption(optionOf(name, declared));
  const shown = examples ?? commands.flatMap((inner) => inner.examples?.slice(0, 1) ?? []);
  if (shown.length > 0) command.addHelpText('after', `\nExamples:\n${shown.map((line) => `  ${line}`).join('\n')}`);
  if (footer !== undefined) command.addHelpText('after', footer);
  const path = parent.parent ? `${parent.name()} ${name}` : name;
  command.showHelpAfterError(`(see automate ${path} --help)`);
  if (spec.run) addAction(command, spec, context);
  for (const inner of commands) addCommand(command, inner, context);
}

function argumentOf({ flags, help, parse, default: value }: Declared<unknown>): Argument {
  const argument = new Argument(flags, help);
  if (parse) argument.argParser(parse as (text: string) => unknown);
  return value === undefined ? argument : argument.default(value, String(value));
}

function optionOf(name: string, { flags, short, group, help, parse, default: value, defaultText }: Declared<unknown>): Option {
  const option = new Option(short === undefined ? flags : `-${short}, ${flags}`, help);
  // Commander takes every option such as `--no-header` for the negation of another one, and names its value `header`.
  option.negate &&= option.attributeName() === name;
  if (parse) option.argParser(parse as (text: string) => unknown);
  if (group !== undefined) option.helpGroup(`${group}:`);
  return value === undefined ? option : option.default(value, defaultText ?? String(value));
}

function addAction(command: Command, spec: CommandSpec, { terminal, exit }: ProgramContext): void {
  const { args = {}, options = {} } = spec;
  const written = new Map<string, readonly string[]>();
  for (const [key, { flags, isRepeatable }] of Object.entries(options)) {
    const [name = ''] = flags.split(' ');
    command.on(`option:${name.slice('--'.length)}`, (value?: string) =>
      written.set(key, [
        ...((isRepeatable && written.get(key)) || []),
        name,
        ...(value === undefined || (flags.includes('[') && !value) ? [] : [value]),
      ]),
    );
  }
  if (spec.tooManyArguments !== undefined || spec.commands) command.allowExcessArguments();
  command.action(async () => {
    const takesAll = Object.values(args).some(({ flags }) => flags.includes('...'));
    if (!takesAll && command.args.length > Object.keys(args).length) refuseExcess(command, spec);
    const values = Object.fromEntries(
      Object.entries(args).map(([name, { isList }], index) => {
        const value: unknown = command.processedArgs[index];
        return [name, isList ? value : joinedWords(value)];
      }),
    );
    exit(
      (await spec.run?.({ args: values as never, options: command.optsWithGlobals() as never, written, terminal, allCommands })) ??
        exitCodes.success,
    );
  });
}

/**
 * The parser takes any word behind an option such as `--keep-answers [age]` for its value, also the flow. So a word that is no value gets
 * an empty value before it. A wrong value, such as `30days`, is left to the parser, which says what it expects.
 */
export function withOptionalValues(argv: readonly string[], { options = {} }: Pick<CommandSpec, 'options'> = {}): readonly string[] {
  const parsers = new Map(
    Object.values(options).flatMap(({ flags, parse }) => (flags.includes('[') && parse ? [[flags.split(' ')[0], parse] as const] : [])),
  );
  return argv.map((word, index) => {
    const parse = parsers.get(word);
    const next = argv[index + 1];
    const isOther = next !== undefined && !next.startsWith('-') && !isNumberWithUnit.test(next);
    return parse && isOther && !accepts(parse, next) ? `${word}=` : word;
  });
}

const isNumberWithUnit = /^\d+(?:\.\d+)?[a-z]*$/i;

function accepts(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Undefined if an argument such as `<words...>` has no words. */
function joinedWords(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.length === 0 ? undefined : value.join(' ');
}

/** Without this check, a group that can itself be run would take a misspelt subcommand as an argument. */
function refuseExcess(command: Command, { tooManyArguments }: CommandSpec): void {
  const option = writtenWithOneDash(command);
  const help = `(see automate ${command.parent?.parent ? `${command.parent.name()} ` : ''}${command.name()} --help)`;
  if (option !== undefined) throw usageError(`found -${option}; did you mean --${option}, with two dashes?\n${help}`);
  if (tooManyArguments !== undefined) throw usageError(tooManyArguments);
  (command as Command & { unknownCommand(): void }).unknownCommand();
}

/** A long option with one dash, such as `in` for `-in`. Its letters are then read as short options. */
function writtenWithOneDash(command: Command): string | undefined {
  let root = command;
  while (root.parent) root = root.parent;
  const { rawArgs } = root as Command & { readonly rawArgs: readonly string[] };
  const names = new Set(command.options.flatMap(({ long }) => long?.slice('--'.length) ?? []));
  return rawArgs.flatMap((word) => /^-([a-z][\w-]+)$/.exec(word)?.[1] ?? []).find((word) => names.has(word));
}

/** The value of an unknown option in a parser error might be a secret. */
function withoutValues(text: string): string {
  return text.replace(/'(--[^='\s]*=|-[^-'](?!, --))[^']+'/g, "'$1...'");
}

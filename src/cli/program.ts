import { Argument, Command, Option } from 'commander';
import { version } from '../app/version.ts';
import { AutomateError } from '../core/failure.ts';
import type { CommandSpec, Declared } from './options.ts';
import type { Terminal } from './terminal.ts';

/** Receives what comes of a command line. */
export interface Outcome {
  exit(code: number): void;
  /** Takes the text of `--help` or `--version`. */
  help(text: string): void;
}

/** Makes the parser of the command line from the declarations of its commands. */
export function createProgram(commands: readonly CommandSpec[], terminal: Terminal, { exit, help }: Outcome): Command {
  const program = new Command('automate')
    .description('Runs automations over CSV and JSON files: every record passes the nodes of a flow.')
    .version(version)
    .addHelpText(
      'after',
      '\nautomate COMMAND --help explains a command, with examples.\nThe documentation is in the folder docs of this package; man automate is its short form.',
    )
    .showSuggestionAfterError()
    .showHelpAfterError('(automate --help tells more)')
    .configureOutput({
      writeOut: help,
      outputError: (text, write) => write(withoutValues(text.replace(/^error: /, 'automate: '))),
    })
    .exitOverride();
  for (const spec of commands) addCommand(program, spec, { terminal, exit });
  return program;
}

type Context = { readonly terminal: Terminal } & Pick<Outcome, 'exit'>;

function addCommand(parent: Command, spec: CommandSpec, context: Context): void {
  const { name, help, args = {}, options = {}, examples, footer, commands = [] } = spec;
  const command = parent.command(name).description(help);
  for (const declared of Object.values(args)) command.addArgument(argumentOf(declared));
  for (const declared of Object.values(options)) command.addOption(optionOf(declared));
  const shown = examples ?? commands.flatMap((inner) => inner.examples?.slice(0, 1) ?? []);
  if (shown.length > 0) command.addHelpText('after', `\nExamples:\n${shown.map((line) => `  ${line}`).join('\n')}`);
  if (footer !== undefined) command.addHelpText('after', footer);
  const path = parent.parent ? `${parent.name()} ${name}` : name;
  command.showHelpAfterError(`(automate ${path} --help tells more)`);
  if (spec.run) addAction(command, spec, context);
  for (const inner of commands) addCommand(command, inner, context);
}

function argumentOf({ flags, help, parse, default: value }: Declared<unknown>): Argument {
  const argument = new Argument(flags, help);
  if (parse) argument.argParser(parse as (text: string) => unknown);
  return value === undefined ? argument : argument.default(value);
}

function optionOf({ flags, short, group, help, parse, default: value, defaultText }: Declared<unknown>): Option {
  const option = new Option(short === undefined ? flags : `-${short}, ${flags}`, help);
  if (parse) option.argParser(parse as (text: string) => unknown);
  if (group !== undefined) option.helpGroup(`${group}:`);
  return value === undefined ? option : option.default(value, defaultText);
}

function addAction(command: Command, spec: CommandSpec, { terminal, exit }: Context): void {
  const { args = {}, options = {} } = spec;
  const written = new Map<string, readonly string[]>();
  for (const [key, { flags, isRepeatable }] of Object.entries(options)) {
    const [name = ''] = flags.split(' ');
    command.on(`option:${name.slice('--'.length)}`, (value?: string) =>
      written.set(key, [...((isRepeatable && written.get(key)) || []), name, ...(value === undefined ? [] : [value])]),
    );
  }
  if (spec.tooManyArguments !== undefined || spec.commands) command.allowExcessArguments();
  command.action(async () => {
    const takesAll = Object.values(args).some(({ flags }) => flags.includes('...'));
    if (!takesAll && command.args.length > Object.keys(args).length) refuseExcess(command, spec);
    const values = Object.fromEntries(Object.keys(args).map((name, index) => [name, joinedWords(command.processedArgs[index])]));
    exit((await spec.run?.({ args: values as never, options: command.optsWithGlobals() as never, written, terminal })) ?? 0);
  });
}

/** The words of an argument such as `<words...>` as one text; absent without any. */
function joinedWords(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.length === 0 ? undefined : value.join(' ');
}

/** A group that is a command itself takes a misspelt command for an argument. */
function refuseExcess(command: Command, { tooManyArguments }: CommandSpec): void {
  if (tooManyArguments !== undefined) throw new AutomateError('usage', tooManyArguments);
  (command as Command & { unknownCommand(): void }).unknownCommand();
}

/** Hides the value of an unknown option: it may be a secret. */
function withoutValues(text: string): string {
  return text.replace(/'(--[^='\s]*=|-[^-'](?!, --))[^']+'/g, "'$1...'");
}

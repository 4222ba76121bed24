import type { Terminal } from './terminal.ts';

/** An option or argument. The parser, `--help`, value types, shell completion and printed command lines are derived from it. */
export interface Declared<Value> {
  /** The help shows this text, such as `--limit <n>`, or `<flow>` for an argument. */
  readonly flags: string;
  readonly help: string;
  /** If the option is repeated, `before` is the value parsed so far. */
  readonly parse?: (text: string, before?: never) => Value;
  readonly default?: Value;
  /** The help shows this text; undefined to show the value itself. */
  readonly defaultText?: string;
  /** It is called only for shell completion. */
  readonly choices?: () => Promise<readonly string[]>;
  /** The commands whose `list` prints the values for shell completion, if the values are names that the user has saved. */
  readonly listedBy?: 'credentials' | 'connections' | 'keys' | 'webhooks';
  /** The help lists the option under this heading. */
  readonly group?: string;
  readonly short?: string;
  readonly isRepeatable?: boolean;
  /** True for an argument whose words form a list. The words of other arguments are joined with spaces. */
  readonly isList?: boolean;
  /** The part of a run that the option affects; undefined if it affects the way in which records are processed. */
  readonly about?: 'input' | 'output' | 'start';
}

/** Keyed by the names under which a command reads their values. */
export type Declarations = Readonly<Record<string, Declared<unknown>>>;

type ValueOf<One> = One extends Declared<infer Value> ? Value : never;

type OptionalKeys<Table> = { [Key in keyof Table]: undefined extends ValueOf<Table[Key]> ? Key : never }[keyof Table];

/** A value is undefined if the option is missing and has no default. */
export type ValuesOf<Table> = { readonly [Key in Exclude<keyof Table, OptionalKeys<Table>>]: ValueOf<Table[Key]> } & {
  readonly [Key in OptionalKeys<Table>]?: Exclude<ValueOf<Table[Key]>, undefined>;
};

type More = Pick<Declared<unknown>, 'about' | 'choices' | 'listedBy' | 'short' | 'isRepeatable'>;

export function flag(flags: string, help: string, more: More = {}): Declared<boolean | undefined> {
  return { flags, help, ...more };
}

/** An option such as `--no-send`. Its value is false if the option is used, and true otherwise. */
export function negated(flags: `--no-${string}`, help: string, more: More = {}): Declared<boolean> {
  return { flags, help, ...more };
}

export function textOption(flags: string, help: string, more: More = {}): Declared<string | undefined> {
  return { flags, help, ...more };
}

/** If the option is used without a value, its value is true. */
export function optionalText(flags: `--${string} [${string}]`, help: string, more: More = {}): Declared<string | true | undefined> {
  return { flags, help, ...more };
}

export function parsedOption<Value>(
  flags: string,
  parse: (text: string, before?: Value) => Value,
  help: string,
  more: More = {},
): Declared<Value | undefined> {
  return { flags, help, parse, ...more };
}

/** `defaultText` is the default in the words of the help. */
export function defaultsTo<Value>(value: Value, option: Declared<Value | undefined>, defaultText?: string): Declared<Value> {
  return { ...option, default: value, ...(defaultText !== undefined && { defaultText }) } as Declared<Value>;
}

/** `<name>` is required, `[name]` is optional, and `<words...>` takes all words, joined with spaces. */
export function argument<Flags extends string>(
  flags: Flags,
  help: string,
  more: Pick<Declared<string>, 'parse' | 'default' | 'choices' | 'listedBy'> = {},
): Declared<Flags extends `<${string}` ? string : string | undefined> {
  return { flags, help, ...more };
}

/** An argument such as `[paths...]`, which takes all words as a list. */
export function argumentList(flags: `[${string}...]`, help: string): Declared<readonly string[]> {
  return { flags, help, isList: true };
}

export function grouped<Table extends Declarations>(group: string, table: Table): Table {
  return Object.fromEntries(Object.entries(table).map(([name, option]) => [name, { ...option, group }])) as unknown as Table;
}

/** The words of each option on the command line, keyed by name, in the order in which they were written. */
export type WrittenOptions = ReadonlyMap<string, readonly string[]>;

interface Invocation<Args, Options> {
  readonly args: Args;
  readonly options: Options;
  readonly written: WrittenOptions;
  readonly terminal: Terminal;
  allCommands(): Promise<readonly CommandSpec[]>;
}

/** The options, arguments and action of a command. A group has `commands` instead of `run`, or both. */
export interface CommandCode {
  readonly args?: Declarations;
  readonly options?: Declarations;
  /** Command lines to copy. A group without examples shows the first example of each of its commands. */
  readonly examples?: readonly string[];
  readonly footer?: string;
  readonly tooManyArguments?: string;
  readonly commands?: readonly CommandSpec[];
  /** Resolves to the exit code; undefined after a success. */
  run?(call: Invocation<never, never>): Promise<number | undefined>;
}

export interface CommandSpec extends CommandCode {
  readonly name: string;
  readonly help: string;
}

interface Typed<Args, Options> {
  readonly args?: Args;
  readonly options?: Options;
  run(call: Invocation<ValuesOf<Args>, ValuesOf<Options>>): Promise<number | undefined>;
}

type Remaining<Spec> = Omit<Spec, 'args' | 'options' | 'run'>;

/** Declares a command of the table in commands.ts. Its `run` receives the typed values of its arguments and options. */
export function command<Args extends Declarations, Options extends Declarations>(
  spec: Remaining<CommandCode> & Typed<Args, Options>,
): CommandCode {
  return spec as CommandCode;
}

/** Declares a command of a group, such as `keys create`. */
export function subcommand<Args extends Declarations, Options extends Declarations>(
  spec: Remaining<CommandSpec> & Typed<Args, Options>,
): CommandSpec {
  return spec as CommandSpec;
}

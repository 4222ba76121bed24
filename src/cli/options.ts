import type { Terminal } from './terminal.ts';

/**
 * An option or an argument of a command. Declared once: the parser, `--help`, the type of its value, shell completion
 * and the command lines that automate prints to copy are all made from it.
 */
export interface Declared<Value> {
  /** As in the help: `--limit <n>`, or `<flow>` for an argument. */
  readonly flags: string;
  readonly help: string;
  /** Reads the value. `before`: the value so far of an option that was given more than once. */
  readonly parse?: (text: string, before?: never) => Value;
  readonly default?: Value;
  /** The default as the help names it. */
  readonly defaultText?: string;
  /** The values that a shell offers. Loaded only for completion. */
  readonly choices?: () => Promise<readonly string[]>;
  /** The command whose list has the values that a shell offers: names that the user has saved. */
  readonly listedBy?: 'credentials' | 'connections' | 'keys' | 'webhooks';
  /** The heading of its group in the help; absent for the default one. */
  readonly group?: string;
  /** The letter that stands for the option: `i` for `-i`. */
  readonly short?: string;
  /** True for an option whose values are gathered. */
  readonly isRepeatable?: boolean;
  /** The part of the run that the option belongs to; absent for an option of the work itself. */
  readonly about?: 'input' | 'output' | 'start';
}

/** Declarations by the names under which a command reads their values. */
export type Declarations = Readonly<Record<string, Declared<unknown>>>;

type ValueOf<One> = One extends Declared<infer Value> ? Value : never;

type OptionalKeys<Table> = { [Key in keyof Table]: undefined extends ValueOf<Table[Key]> ? Key : never }[keyof Table];

/** The values of a table of declarations. An option that was not given and has no default is absent. */
export type ValuesOf<Table> = { readonly [Key in Exclude<keyof Table, OptionalKeys<Table>>]: ValueOf<Table[Key]> } & {
  readonly [Key in OptionalKeys<Table>]?: Exclude<ValueOf<Table[Key]>, undefined>;
};

type More = Pick<Declared<unknown>, 'about' | 'choices' | 'listedBy' | 'short' | 'isRepeatable'>;

/** An option without a value. */
export function flag(flags: string, help: string, more: More = {}): Declared<boolean | undefined> {
  return { flags, help, ...more };
}

/** An option such as `--no-send`: true unless it is given. */
export function negated(flags: `--no-${string}`, help: string, more: More = {}): Declared<boolean> {
  return { flags, help, ...more };
}

/** An option whose value is any text. */
export function textOption(flags: string, help: string, more: More = {}): Declared<string | undefined> {
  return { flags, help, ...more };
}

/** An option that may have a text: true without one. */
export function optionalText(flags: `--${string} [${string}]`, help: string, more: More = {}): Declared<string | true | undefined> {
  return { flags, help, ...more };
}

/** An option whose value is read by `parse`. */
export function parsedOption<Value>(
  flags: string,
  parse: (text: string, before?: Value) => Value,
  help: string,
  more: More = {},
): Declared<Value | undefined> {
  return { flags, help, parse, ...more };
}

/** The same option with a default. `defaultText`: as the help names it. */
export function defaultsTo<Value>(value: Value, option: Declared<Value | undefined>, defaultText?: string): Declared<Value> {
  return { ...option, default: value, ...(defaultText !== undefined && { defaultText }) } as Declared<Value>;
}

/** An argument: `<name>` has to be given, `[name]` may be left out; `<words...>` takes all words, joined by spaces. */
export function argument<Flags extends string>(
  flags: Flags,
  help: string,
  more: Pick<Declared<string>, 'parse' | 'default' | 'choices' | 'listedBy'> = {},
): Declared<Flags extends `<${string}` ? string : string | undefined> {
  return { flags, help, ...more };
}

/** The same options under a heading in the help. */
export function grouped<Table extends Declarations>(group: string, table: Table): Table {
  return Object.fromEntries(Object.entries(table).map(([name, option]) => [name, { ...option, group }])) as unknown as Table;
}

/** The words of each option that was given, by its name, in the order in which they were given. */
export type WrittenOptions = ReadonlyMap<string, readonly string[]>;

/** One call of a command. */
export interface Call<Args, Options> {
  readonly args: Args;
  readonly options: Options;
  readonly written: WrittenOptions;
  readonly terminal: Terminal;
}

/** A command, or a group of commands. */
export interface CommandSpec {
  readonly name: string;
  readonly help: string;
  readonly args?: Declarations;
  readonly options?: Declarations;
  /** Command lines to copy, for the help and the manual page. The help of a group without any shows the first one of each of its commands. */
  readonly examples?: readonly string[];
  /** Printed below the options in the help. */
  readonly footer?: string;
  /** The message for too many arguments; absent for the default one. */
  readonly tooManyArguments?: string;
  readonly commands?: readonly CommandSpec[];
  /** Resolves to the exit code. Loads the command's code itself, so that a command loads no other's. */
  run?(call: Call<never, never>): Promise<number>;
}

interface TypedCommand<Args, Options> extends Omit<CommandSpec, 'args' | 'options' | 'run'> {
  readonly args?: Args;
  readonly options?: Options;
  run(call: Call<ValuesOf<Args>, ValuesOf<Options>>): Promise<number>;
}

/** Declares a command: `run` gets the values of its arguments and options with their types. */
export function command<Args extends Declarations, Options extends Declarations>(spec: TypedCommand<Args, Options>): CommandSpec {
  return spec as CommandSpec;
}

import { usageError } from '../core/failure.ts';
import { argument, type CommandSpec, command, type Declared } from './options.ts';
import type { Terminal } from './terminal.ts';

export const completion = command({
  examples: ['eval "$(automate completion bash)"', 'eval "$(automate completion zsh)"', 'automate completion fish | source'],
  args: { shell: argument('<shell>', 'your shell: bash, zsh or fish', { choices: async () => ['bash', 'zsh', 'fish'] }) },
  run: async ({ args, terminal, allCommands }) => completionCommand(args.shell, await allCommands(), terminal),
});

const shells = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

async function completionCommand(shell: string, commands: readonly CommandSpec[], terminal: Terminal): Promise<undefined> {
  const script = shells.get(shell);
  if (!script) throw usageError(`expected ${[...shells.keys()].join(', ')}, found "${shell}"`);
  const offered = await Promise.all(commands.map(offeredOf));
  await terminal.print(script([...offered, { ...helpCommand, values: offered.map(({ name }) => name) }]));
}

interface Offered {
  readonly name: string;
  readonly help: string;
  readonly options: readonly OfferedOption[];
  /** Empty if the argument is a file name. */
  readonly values: readonly string[];
  /** A shell command line that prints the possible values; undefined if `values` lists them. */
  readonly source?: string;
  readonly commands: readonly Offered[];
}

interface OfferedOption {
  readonly flag: string;
  readonly help: string;
  readonly takesValue: boolean;
  /** Empty if any value is allowed. */
  readonly values: readonly string[];
  readonly source?: string;
}

const helpCommand: Offered = { name: 'help', help: 'explain a command', options: [], values: [], commands: [] };

async function offeredOf({ name, help, args = {}, options = {}, commands = [] }: CommandSpec): Promise<Offered> {
  const [argument] = Object.values(args);
  return {
    name,
    help,
    options: await Promise.all(Object.values(options).map(optionOf)),
    values: (await argument?.choices?.()) ?? [],
    source: sourceOf(argument),
    commands: await Promise.all(commands.map(offeredOf)),
  };
}

async function optionOf(declared: Declared<unknown>): Promise<OfferedOption> {
  const { flags, help, choices } = declared;
  const [flag = ''] = flags.split(' ');
  return { flag, help, takesValue: flags.includes('<'), values: (await choices?.()) ?? [], source: sourceOf(declared) };
}

/** A command line that prints the names that the user has saved: the first column of the `list` command, without the header. */
function sourceOf(declared: Declared<unknown> | undefined): string | undefined {
  return declared?.listedBy && `automate ${declared.listedBy} list 2>/dev/null | tail -n +2 | cut -d " " -f 1`;
}

function hasValues({ values, source }: Pick<Offered, 'values' | 'source'>): boolean {
  return values.length > 0 || source !== undefined;
}

/** Returns the values in a form that bash can expand between double quotes. */
function bashValues({ values, source }: Pick<Offered, 'values' | 'source'>): string {
  return source === undefined ? values.join(' ') : `$(${source})`;
}

/** Leaves out the groups, and puts the name of the group before the name of a subcommand. */
function runnable(commands: readonly Offered[]): Offered[] {
  return commands.flatMap((command) =>
    command.commands.length === 0 ? [command] : command.commands.map((inner) => ({ ...inner, name: `${command.name} ${inner.name}` })),
  );
}

function groupsIn(commands: readonly Offered[]): Offered[] {
  return commands.filter((command) => command.commands.length > 0);
}

function namesOf(commands: readonly Offered[]): string {
  return commands.map(({ name }) => name).join(' ');
}

function flagsOf({ options }: Offered): string[] {
  return options.map(({ flag }) => flag);
}

function bash(commands: readonly Offered[]): string {
  const groups = groupsIn(commands).map(
    (group) => `    ${group.name}) values="${[namesOf(group.commands), ...flagsOf(group)].join(' ')}" ;;`,
  );
  const cases = runnable(commands).map((command) => {
    const values = hasValues(command) ? ` values="${bashValues(command)}"` : '';
    return `    '${command.name}') words="${[...flagsOf(command), '--help'].join(' ')}"${values} ;;`;
  });
  const valued = runnable(commands).flatMap(({ options }) => options.filter(hasValues));
  const values = new Map(valued.map((option) => [option.flag, `    ${option.flag}) words="" values="${bashValues(option)}" ;;`]));
  return `# bash completion for automate: eval "$(automate completion bash)"
_automate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="\${COMP_WORDS[1]}" words values=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${namesOf(commands)} --help --version" -- "$current"))
    return
  fi
  case "$command" in
${groups.join('\n')}
  esac
  if [ -n "$values" ]; then
    if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W "$values --help" -- "$current")); return; fi
    command="$command \${COMP_WORDS[2]}" values=""
  fi
  case "$command" in
${cases.join('\n')}
  esac
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${[...values.values()].join('\n')}
  esac
  if [[ "$current" == -* ]]; then values="$words"; fi
  if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$current")); fi
}
complete -o default -F _automate automate`;
}

function zsh(commands: readonly Offered[]): string {
  const plain = (text: string) => text.replaceAll("'", '’').replace(/[[\]:"\\]/g, ' ');
  const choicesOf = ({ values, source }: Pick<Offered, 'values' | 'source'>) => {
    if (source !== undefined) return `value:{compadd $(${source})}`;
    return values.length > 0 ? `value:(${values.join(' ')})` : 'value:_files';
  };
  const described = (some: readonly Offered[]) => some.map(({ name, help }) => `'${name}:${plain(help)}'`);
  const ownFlags = ({ options }: Offered) => options.map(({ flag, help }) => `'${flag}:${plain(help)}'`);
  const groups = groupsIn(commands).map(
    (group) => `    ${group.name}) inner=(${[...described(group.commands), ...ownFlags(group)].join(' ')}) ;;`,
  );
  const cases = runnable(commands).map((command) => {
    const flags = command.options.map((option) => {
      const { flag, help, takesValue } = option;
      return `'${flag}[${plain(help)}]${takesValue ? `:${choicesOf(option)}` : ''}'`;
    });
    const argument = hasValues(command) ? `'1:${choicesOf(command)}'` : "'*:file:_files'";
    return `    '${command.name}') _arguments ${[...flags, argument].join(' ')} ;;`;
  });
  return `#compdef automate
# zsh completion for automate: eval "$(automate completion zsh)"
_automate() {
  local -a inner commands=(
${described(commands)
  .map((line) => `    ${line}`)
  .join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
${groups.join('\n')}
  esac
  if (( $#inner )); then
    if (( CURRENT == 2 )); then _describe command inner; return; fi
    command="$command $words[2]"
    shift words; (( CURRENT-- ))
  fi
  case $command in
${cases.join('\n')}
  esac
}
compdef _automate automate`;
}

function fish(commands: readonly Offered[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const choices = ({ values, source }: Pick<Offered, 'values' | 'source'>) => {
    if (source !== undefined) return ` -f -a ${quoted(`(${source})`)}`;
    return values.length > 0 ? ` -f -a ${quoted(values.join(' '))}` : '';
  };
  const flagText = (option: OfferedOption) =>
    ` -l ${option.flag.slice('--'.length)}${option.takesValue ? ' -r' : ''}${choices(option)} -d ${quoted(option.help)}`;
  const seen = (name: string) =>
    name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
  const names = commands.map(({ name, help }) => `complete -c automate -n __fish_use_subcommand -f -a ${name} -d ${quoted(help)}`);
  const innerNames = groupsIn(commands).flatMap((group) => {
    const inside = `complete -c automate -n '${seen(group.name)}; and not __fish_seen_subcommand_from ${namesOf(group.commands)}'`;
    return [
      ...group.commands.map(({ name, help }) => `${inside} -f -a ${name} -d ${quoted(help)}`),
      ...group.options.map((option) => inside + flagText(option)),
    ];
  });
  const lines = runnable(commands).flatMap((command) => {
    const inside = `complete -c automate -n '${seen(command.name)}'`;
    const argument = hasValues(command) ? [inside + choices(command)] : [];
    return [...argument, ...command.options.map((option) => inside + flagText(option))];
  });
  return ['# fish completion for automate: automate completion fish | source', ...names, ...innerNames, ...lines].join('\n');
}

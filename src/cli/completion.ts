import type { Command, Option } from 'commander';
import { AutomateError } from '../core/failure.ts';
import { backendNames } from '../io/credentials/backend.ts';
import { formatNames } from '../io/records/format.ts';
import { nodeTypes } from '../nodes/index.ts';
import { mcpAuthTypes } from './connections/connections-auth.ts';
import { exitCodes } from './exit.ts';
import type { Terminal } from './terminal.ts';

const shells = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

/** Prints the completion script of a shell, made from the commands themselves. Answers the exit code. */
export async function completionCommand(shell: string, program: Command, terminal: Terminal): Promise<number> {
  const script = shells.get(shell);
  if (!script) throw new AutomateError('usage', `expected ${[...shells.keys()].join(', ')}, found "${shell}"`);
  await terminal.print(script(offeredBy(program)));
  return exitCodes.success;
}

/** A command as a shell offers it. */
interface Offered {
  readonly name: string;
  readonly description: string;
  readonly options: readonly Option[];
  /** What its argument may be; none for a file. */
  readonly values: readonly string[];
  /** The commands inside it; none for most. */
  readonly commands: readonly Offered[];
}

/** What an argument of a command may be, where there are few. */
const argumentValues: Readonly<Record<string, readonly string[]>> = {
  completion: [...shells.keys()],
  add: ['http', 'mcp'],
  nodes: nodeTypes.map(({ name }) => name),
};

/** What an option may be, where there are few. */
const optionValues: Readonly<Record<string, readonly string[]>> = {
  '--in-format': formatNames,
  '--out-format': formatNames,
  '--backend': backendNames,
  '--auth': Object.keys(mcpAuthTypes),
};

function offeredBy(program: Command): Offered[] {
  const commands = program.commands.map(offered);
  const help = { name: 'help', description: 'explain a command', options: [], values: commands.map(({ name }) => name), commands: [] };
  return [...commands, help];
}

function offered(command: Command): Offered {
  return {
    name: command.name(),
    description: command.description(),
    options: command.options,
    values: argumentValues[command.name()] ?? [],
    commands: command.commands.map(offered),
  };
}

/** The commands that do something: those inside a group are named with it. */
function doing(commands: readonly Offered[]): Offered[] {
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

function valuesOf({ long }: Option): readonly string[] {
  return optionValues[long ?? ''] ?? [];
}

function flagsOf({ options }: Offered): string[] {
  return options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined && flag !== null)) as string[];
}

function bash(commands: readonly Offered[]): string {
  const groups = groupsIn(commands).map(
    (group) => `    ${group.name}) values="${[namesOf(group.commands), ...flagsOf(group)].join(' ')}" ;;`,
  );
  const cases = doing(commands).map((command) => {
    const values = command.values.length > 0 ? ` values="${command.values.join(' ')}"` : '';
    return `    '${command.name}') words="${[...flagsOf(command), '--help'].join(' ')}"${values} ;;`;
  });
  const formats = Object.entries(optionValues).map(([option, values]) => `    ${option}) words="" values="${values.join(' ')}" ;;`);
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
${formats.join('\n')}
  esac
  if [[ "$current" == -* ]]; then values="$words"; fi
  if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$current")); fi
}
complete -o default -F _automate automate`;
}

function zsh(commands: readonly Offered[]): string {
  const describe = (text: string) => text.replaceAll("'", '’').replace(/[[\]:"\\]/g, ' ');
  const choicesOf = (values: readonly string[]) => (values.length > 0 ? `value:(${values.join(' ')})` : 'value:_files');
  const described = (some: readonly Offered[]) => some.map(({ name, description }) => `'${name}:${describe(description)}'`);
  const ownFlags = ({ options }: Offered) => options.map(({ long, description }) => `'${long}:${describe(description)}'`);
  const groups = groupsIn(commands).map(
    (group) => `    ${group.name}) inner=(${[...described(group.commands), ...ownFlags(group)].join(' ')}) ;;`,
  );
  const cases = doing(commands).map(({ name, options, values }) => {
    const flags = options.map(
      (option) =>
        `'${option.long}[${describe(option.description)}]${option.required || option.optional ? `:${choicesOf(valuesOf(option))}` : ''}'`,
    );
    return `    '${name}') _arguments ${[...flags, values.length > 0 ? `'1:${choicesOf(values)}'` : "'*:file:_files'"].join(' ')} ;;`;
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
  const choices = (values: readonly string[]) => (values.length > 0 ? ` -f -a ${quoted(values.join(' '))}` : '');
  const flag = (option: Option) =>
    ` -l ${(option.long ?? '').replace(/^--/, '')}${option.required ? ' -r' : ''}${choices(valuesOf(option))} -d ${quoted(option.description)}`;
  const seen = (name: string) =>
    name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
  const names = commands.map(
    ({ name, description }) => `complete -c automate -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
  );
  const innerNames = groupsIn(commands).flatMap((group) => {
    const inside = `complete -c automate -n '${seen(group.name)}; and not __fish_seen_subcommand_from ${namesOf(group.commands)}'`;
    return [
      ...group.commands.map(({ name, description }) => `${inside} -f -a ${name} -d ${quoted(description)}`),
      ...group.options.map((option) => inside + flag(option)),
    ];
  });
  const lines = doing(commands).flatMap(({ name, options, values }) => {
    const inside = `complete -c automate -n '${seen(name)}'`;
    return [...(values.length > 0 ? [inside + choices(values)] : []), ...options.map((option) => inside + flag(option))];
  });
  return ['# fish completion for automate: automate completion fish | source', ...names, ...innerNames, ...lines].join('\n');
}

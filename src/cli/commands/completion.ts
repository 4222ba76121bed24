import type { Command, Option } from 'commander';
import { AutomateError } from '../../core/failure.ts';
import { formatNames } from '../../io/records/format.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';

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
}

/** What an argument of a command may be, where there are few. */
const argumentValues: Readonly<Record<string, readonly string[]>> = {
  completion: [...shells.keys()],
  nodes: nodeTypes.map(({ name }) => name),
};

/** What an option may be, where there are few. */
const optionValues: Readonly<Record<string, readonly string[]>> = { '--in-format': formatNames, '--out-format': formatNames };

function offeredBy(program: Command): Offered[] {
  const commands = program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: command.options,
    values: argumentValues[command.name()] ?? [],
  }));
  return [...commands, { name: 'help', description: 'explain a command', options: [], values: commands.map(({ name }) => name) }];
}

function valuesOf({ long }: Option): readonly string[] {
  return optionValues[long ?? ''] ?? [];
}

function flagsOf({ options }: Offered): string[] {
  return options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined && flag !== null)) as string[];
}

function bash(commands: readonly Offered[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const cases = commands.map((command) => {
    const values = command.values.length > 0 ? ` values="${command.values.join(' ')}"` : '';
    return `    ${command.name}) words="${[...flagsOf(command), '--help'].join(' ')}"${values} ;;`;
  });
  const formats = Object.entries(optionValues).map(([option, values]) => `    ${option}) words="" values="${values.join(' ')}" ;;`);
  return `# bash completion for automate: eval "$(automate completion bash)"
_automate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words values=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
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
  const names = commands.map(({ name, description }) => `    '${name}:${describe(description)}'`);
  const cases = commands.map(({ name, options, values }) => {
    const flags = options.map(
      (option) =>
        `'${option.long}[${describe(option.description)}]${option.required || option.optional ? `:${choicesOf(valuesOf(option))}` : ''}'`,
    );
    return `    ${name}) _arguments ${[...flags, values.length > 0 ? `'1:${choicesOf(values)}'` : "'*:file:_files'"].join(' ')} ;;`;
  });
  return `#compdef automate
# zsh completion for automate: eval "$(automate completion zsh)"
_automate() {
  local -a commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _automate automate`;
}

function fish(commands: readonly Offered[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const choices = (values: readonly string[]) => (values.length > 0 ? ` -f -a ${quoted(values.join(' '))}` : '');
  const lines = commands.flatMap(({ name, description, options, values }) => {
    const inside = `complete -c automate -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c automate -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
      ...(values.length > 0 ? [inside + choices(values)] : []),
      ...options.map(
        (option) =>
          `${inside} -l ${(option.long ?? '').replace(/^--/, '')}${option.required ? ' -r' : ''}${choices(valuesOf(option))} -d ${quoted(option.description)}`,
      ),
    ];
  });
  return ['# fish completion for automate: automate completion fish | source', ...lines].join('\n');
}

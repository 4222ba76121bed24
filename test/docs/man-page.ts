import type { CommandSpec, Declarations, Declared } from '../../src/cli/options.ts';

/** The manual page automate(1) in roff, from the declarations of the commands. */
export function manPage(commands: readonly CommandSpec[]): string {
  return `${[
    '.TH AUTOMATE 1 "" "" "User Commands"',
    '.SH NAME',
    'automate \\- send an HTTP request for every record of a CSV or JSON file',
    '.SH SYNOPSIS',
    '.B automate',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    text('A flow is a YAML file that says what to do with each record: requests, calls of tools, questions to models.'),
    text('automate runs a flow over the records of a file, and writes the records with the answers in them.'),
    text('Failed records go to a file of their own.'),
    '.SH COMMANDS',
    ...commands.flatMap((command) => commandLines(command, 'automate')),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, text(meaning)]),
    '.SH ENVIRONMENT',
    ...variables.flatMap(([name, meaning]) => ['.TP', `.B ${name}`, text(meaning)]),
    '.SH SEE ALSO',
    text('The folder docs of the package: getting started, all options of a flow, recipes.'),
  ].join('\n')}\n`;
}

const exitCodes = [
  ['0', 'every record succeeded'],
  ['1', 'a bug, or an unexpected failure'],
  ['2', 'the command line is wrong'],
  ['3', 'the flow is not valid'],
  ['4', 'finished, and some records failed'],
  ['5', 'stopped early by a limit; --resume continues'],
  ['6', 'the input cannot be read'],
  ['7', 'a credential or connection is missing or refused'],
  ['73', 'the output exists, or is locked'],
  ['74', 'the output cannot be written'],
  ['129, 130, 143', 'interrupted by a signal; --resume continues'],
  ['141', 'stdout was closed'],
] as const;

const variables = [
  ['AUTOMATE_HOME', "the folder of the tool's own files"],
  ['AUTOMATE_CREDENTIAL_NAME', 'the secret of the credential NAME, in upper case; with _FILE the name of a file that holds it'],
  ['AUTOMATE_ENV', 'the environment of the credentials and variables'],
  ['AUTOMATE_VAULT_PASSPHRASE', 'the passphrase of the vault; with _FILE the name of a file that holds it'],
  ['HTTP_PROXY, HTTPS_PROXY, NO_PROXY', 'proxies'],
  ['NO_COLOR, FORCE_COLOR', 'whether the output is coloured'],
] as const;

function commandLines({ name, help, args = {}, options = {}, examples = [], commands = [] }: CommandSpec, before: string): string[] {
  const path = `${before} ${name}`;
  const own = commands.length === 0 || Object.keys(options).length > 0;
  const words = Object.values(args).map(({ flags }) => flags);
  return [
    ...(own
      ? ['.SS', ...[text([path, ...words].join(' '))], text(`${capital(help)}.`), ...optionLines(options), ...exampleLines(examples)]
      : []),
    ...commands.flatMap((inner) => commandLines(inner, path)),
  ];
}

function optionLines(options: Declarations): string[] {
  return Object.values<Declared<unknown>>(options).flatMap(({ flags, short, help }) => [
    '.TP',
    `.B ${escaped(short === undefined ? flags : `-${short}, ${flags}`)}`,
    text(help),
  ]);
}

function exampleLines(examples: readonly string[]): string[] {
  return examples.length === 0 ? [] : ['.PP', 'Examples:', '.nf', ...examples.map((line) => text(`    ${line}`)), '.fi'];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A line of text: one that begins with a dot or a quote would be a macro. */
function text(line: string): string {
  return escaped(line).replace(/^(?=[.'])/, '\\&');
}

function escaped(line: string): string {
  return line.replaceAll('\\', '\\e').replaceAll('-', '\\-');
}

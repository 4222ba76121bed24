import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { onTestFinished } from 'vitest';
import { noCompileCache, type Workplace } from '../helpers/cli.ts';
import { stdioServers } from '../helpers/mcp/servers.ts';
import { serving } from '../helpers/serving.ts';
import { secret } from './example-api.ts';
import { type Block, isBlock, type Page, root } from './pages.ts';

/**
 * Does everything that a page shows, in the same order: writes its files and runs its commands in a shell. Returns the page with the real
 * outputs. An output stays unchanged if it differs only in times, dates, ports and similar values.
 */
export async function runPage(page: Page, place: Workplace, env: Readonly<Record<string, string>>): Promise<string> {
  const isServed = ['docs/http-api.md', 'docs/serving.md'].includes(page.path);
  const shell = await startShell(place, { ...env, ...(isServed && { AUTOMATE_HOME: place.path('.automate') }) });
  if (isServed) await startServer(place, shell, env);
  const lines: string[] = [];
  for (const part of page.parts) {
    if (!isBlock(part)) lines.push(...part);
    else if (part.notRun !== undefined) lines.push(...part.lines);
    else if (part.language === 'console') lines.push(...(await runBlock(part, shell)));
    else lines.push(...(await showFile(part, shell.folder)));
  }
  return lines.join('\n');
}

/** Starts `automate serve flows` on a free port. In the shell, curl reaches this server at the address that the page shows. */
async function startServer(place: Workplace, { folder }: Shell, env: Readonly<Record<string, string>>): Promise<void> {
  const { address } = await serving({}, { place, folder: relative(place.folder, join(folder, 'flows')), env });
  const script = `#!/bin/bash\nexec /usr/bin/curl "\${@//http:\\/\\/127.0.0.1:4020/${address}}"\n`;
  await writeFile(join(place.path('bin'), 'curl'), script, { mode: 0o755 });
}

/** Writes the file that a block shows, and returns its lines. A file in examples/ exists already, so only its real lines are returned. */
async function showFile({ file, lines }: Block, folder: string): Promise<readonly string[]> {
  if (file === undefined) return lines;
  if (file.startsWith('examples/')) return (await readFile(root + file, 'utf8')).trimEnd().split('\n');
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), lines.map((line) => `${line}\n`).join(''));
  return lines;
}

/** Runs a code block. Every block begins in the same folder. */
async function runBlock({ lines }: Block, shell: Shell): Promise<string[]> {
  await shell.run(`cd '${shell.folder}'`);
  const made: string[] = [];
  for (const { command, output } of commandsOf(lines)) {
    const shown = output.join('\n').trimEnd();
    const real = (await shell.run(command.map((line) => line.replace(/^\$ /, '')).join('\n'))).trimEnd();
    const blank = output.slice(shown === '' ? 0 : shown.split('\n').length);
    made.push(...command, ...(isAlike(shown, real) ? output : [...(real === '' ? [] : real.split('\n')), ...blank]));
  }
  return made;
}

/**
 * Returns the commands of a console block, each with the output that the page shows. A command begins with `$ `, and can continue after a
 * backslash.
 */
function commandsOf(lines: readonly string[]): { command: string[]; output: string[] }[] {
  const commands: { command: string[]; output: string[] }[] = [];
  for (const line of lines) {
    const last = commands.at(-1);
    if (line.startsWith('$ ')) commands.push({ command: [line], output: [] });
    else if (last?.output.length === 0 && last.command.at(-1)?.endsWith('\\')) last.command.push(line);
    else last?.output.push(line);
  }
  return commands;
}

/** True if an output is the output that the page shows. A line `...` on the page stands for any lines. */
export function isAlike(shown: string, real: string): boolean {
  const escaped = blurred(shown).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const pattern = escaped.replace(/^\\\.\\\.\\\.(\n|$)/gm, '(?:.*(?:\\n|$))*?');
  return new RegExp(`^${pattern}$`).test(blurred(real));
}

/** Replaces everything that differs between two runs, machines or days. */
function blurred(text: string): string {
  return (
    text
      // Ids are replaced first, because a part of an id can look like a date or a time.
      .replace(/\bkey_\w{16,17}\b/g, 'ID')
      .replace(/\brun_[\w-]{36}/g, 'RUN')
      .replace(/\/requests\/[\w-]{16}/g, '/requests/ID')
      .replace(/\d[\d,.]* (?:ms|s|min \d+ s|min)\b/g, 'TIME')
      .replace(/\b\d+[smhd]\b/g, 'TIME')
      .replace(/\d\d:\d\d UTC/g, 'TIME')
      .replace(/\d[\d,.]*\/s\b/g, 'RATE')
      .replace(/\d{4}-\d\d(?:-\d\d)?/g, 'DATE')
      .replace(/\bof \d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b/g, 'of DATE')
      .replace(/date: .* GMT/g, 'date: DATE')
      .replace(/(127\.0\.0\.1):\d+/g, '$1:PORT')
      .replace(/\bamk_\w+/g, 'KEY')
      .replace(/\/\S*\/(automate-demo-)\w+/g, '/tmp/$1X')
      .replace(/ {2,}/g, '  ')
  );
}

/** A bash process that runs commands one after another, in the folder `customers` of a workplace with a copy of examples/. */
interface Shell {
  readonly folder: string;
  /** Runs a command and returns everything that it prints. */
  run(command: string): Promise<string>;
}

async function startShell(place: Workplace, env: Readonly<Record<string, string>>): Promise<Shell> {
  const folder = place.path('customers');
  const bin = await programs(place);
  await mkdir(folder);
  await cp(`${root}examples`, join(folder, 'examples'), { recursive: true });
  const PATH = `${bin}:${dirname(process.execPath)}:${process.env.PATH}`;
  const child = spawn('bash', { cwd: folder, env: { PATH, HOME: place.folder, ...noCompileCache, ...env } });
  onTestFinished(() => void child.kill());
  let output = '';
  let heard = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    heard();
  });
  child.stdin.write('exec 2>&1; code=0\n');
  const end = 'end-of-command-7f3a';
  return {
    folder,
    async run(command) {
      child.stdin.write(`(exit $code); { ${command}\n} </dev/null; code=$?; printf ${end}\n`);
      while (!output.endsWith(end)) await new Promise<void>((resolve) => (heard = resolve));
      const printed = output.slice(0, -end.length).replaceAll(place.folder, '/home/ada').replaceAll(root, '/home/ada/automate/');
      output = '';
      return printed;
    },
  };
}

/** Creates a folder with three programs: `automate`, a `pass`, and an `npx` that starts the installed MCP server instead of a download. */
async function programs(place: Workplace): Promise<string> {
  const bin = place.path('bin');
  await mkdir(bin);
  await symlink(`${root}bin/automate.js`, join(bin, 'automate'));
  const script = (name: string, line: string) => writeFile(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  await script('npx', `exec ${stdioServers.everything.join(' ')}`);
  await script('pass', `echo ${secret}`);
  return bin;
}

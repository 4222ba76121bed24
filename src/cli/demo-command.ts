import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AutomateError, usageError } from '../core/failure.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { systemReason } from '../files/naming-errors.ts';
import { exitCodes, signalExitCode } from '../run/exit-codes.ts';
import { createDemoApi, type DemoApi } from './demo-api.ts';
import { runCommand } from './run/run-command.ts';
import type { Terminal } from './terminal.ts';

const servedPort = 4010;

const highestPort = 65_535;

const shownRecords = 5;

/** Runs an example flow over real airports, against an API that this process serves. With `serve`, only serves that API. */
export async function demoCommand(options: { readonly serve?: boolean; readonly port?: number }, terminal: Terminal): Promise<number> {
  const port = options.port ?? (options.serve ? servedPort : 0);
  if (port > highestPort) throw usageError(`--port: expected a port from 0 to ${highestPort}, found ${port}`);
  const api = await createDemoApi(port).catch((error: Error) => {
    throw usageError(`the demo API cannot listen on port ${port}: ${error.message}\nchoose another with --port`);
  });
  try {
    return options.serve ? await serve(api, terminal) : await runExample(api, terminal);
  } finally {
    await api.close();
  }
}

async function serve(api: DemoApi, terminal: Terminal): Promise<number> {
  await terminal.print(`the demo API listens on ${api.origin}; stop it with Ctrl-C`);
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, resolve);
  });
  return signalExitCode(signal);
}

/** Uses a new folder, so that no file of the user changes. The folder is kept so that the user can experiment in it. */
async function runExample(api: DemoApi, terminal: Terminal): Promise<number> {
  const examples = fileURLToPath(new URL('../examples/', import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), 'automate-demo-')).catch(noFolder);
  const [flow, input, output] = ['flow.yaml', 'airports.csv', 'enriched.csv'].map((name) => join(folder, name)) as [string, string, string];
  const text = (await readFile(join(examples, 'enrichment', 'flow.yaml'), 'utf8')).replace(/http:\/\/127\.0\.0\.1:\d+/, api.origin);
  await writeFile(flow, text);
  await cp(join(examples, 'airports.csv'), input);
  const { say, colors } = terminal;
  say(`${colors.bold('The flow')} (${flow})\n\n${indented(text)}\n`);
  const automate = calledAs(process.argv[1] ?? '');
  say(`${colors.bold('The run')}\n\n    ${automate} run ${flow} --in ${input} --out ${output} --replace\n`);
  const written = new Map([
    ['in', ['--in', input]],
    ['out', ['--out', output]],
    ['replace', ['--replace']],
  ]);
  const exitCode = await runCommand(
    { flow, options: { in: [input], out: output, replace: true, input: true, set: [], var: [] }, written, isFree: true },
    terminal,
  );
  if (exitCode !== exitCodes.success) return exitCode;
  const lines = (await readFile(output, 'utf8')).split('\n').slice(0, shownRecords + 1);
  say(`\n${colors.bold(`The first ${shownRecords} records of ${output}`)}\n`);
  await terminal.print(lines.join('\n'));
  say(`\nTo repeat the run, start its API in another terminal: ${automate} demo --serve --port ${new URL(api.origin).port}`);
  say(`More flows: ${automate} demo --serve, and ${examples}`);
  return exitCode;
}

function calledAs(script: string): string {
  return script.endsWith('.js') ? `node ${shellWord(relative('', script))}` : 'automate';
}

function noFolder(error: Error): never {
  throw new AutomateError('output', `no folder can be created in ${tmpdir()}: ${systemReason(error)}\nset TMPDIR to a different folder`);
}

function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

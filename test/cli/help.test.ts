import { describe, expect, test } from 'vitest';
import { commands, loadCommand } from '../../src/cli/commands.ts';
import { addOptions } from '../../src/cli/connections/connections-options.ts';
import type { CommandSpec } from '../../src/cli/options.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { allAuthNames } from '../../src/core/auth/auth.ts';
import { exitCodes, signalExitCode } from '../../src/run/exit-codes.ts';
import { workplace } from '../helpers/cli.ts';
import { shell } from '../helpers/shell.ts';

const loaded = await Promise.all(commands.map(loadCommand));
const program = createProgram(loaded, {} as Terminal, { exit: () => {}, help: () => {} });

/** The path of every command, such as `credentials set`. */
const paths = loaded.flatMap((spec): [string, CommandSpec][] => [
  [spec.name, spec],
  ...(spec.commands ?? []).map((inner): [string, CommandSpec] => [`${spec.name} ${inner.name}`, inner]),
]);

describe('--help', () => {
  test('lists every command with its summary', async () => {
    const { code, stdout, stderr } = await (await workplace()).automate(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const { help } of commands) expect(stdout.replace(/\s+/g, ' ')).toContain(help);
    expect(stdout).toMatch(/^Examples:\n {2}automate demo\n/m);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(commands.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['run', 'test-request', 'validate', 'nodes', 'schema', 'completion', 'demo']),
    );
  });

  test('lists every command with its arguments', () => {
    const help = program.createHelp();
    const terms = program.commands.map((command) => help.subcommandTerm(command));
    expect(terms).toEqual(commands.map(({ name, usage }) => (usage === undefined ? name : `${name} ${usage}`)));
  });

  test.each(paths)(
    'is at most 80 columns wide for %s, explains every option and has examples',
    async (path, { options = {}, args = {} }) => {
      const { code, stdout, stderr } = await (await workplace()).automate([...path.split(' '), '--help']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(new RegExp(`^Usage: automate ${path} `));
      expect(stdout).toMatch(new RegExp(`^Examples:\\n {2}.*automate ${path}`, 'm'));
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
      for (const { flags, short, help } of Object.values(options)) {
        expect([flags, help]).toEqual([flags, expect.stringMatching(/^[^A-Z].*[^.]$/)]);
        expect(stdout).toContain(short === undefined ? `  ${flags}` : `  -${short}, ${flags}`);
      }
      for (const { help } of Object.values(args)) expect(help).toMatch(/^[^A-Z].*[^.]$/);
    },
  );
});

test.each(paths)('the help of %s contains no phrases that are hard to read', (_path, spec) => {
  const texts = [spec, ...Object.values(spec.args ?? {}), ...Object.values(spec.options ?? {})].map(({ help }) => help);
  for (const text of texts)
    expect(text).not.toMatch(/(?<!\bthere) (?:is|are) no | alone$|\b(?:nobody|who answers|told|behind (?:it|them)|beside|anew|goes? on)\b/);
});

test.each(paths.filter(([, { run }]) => run))(
  'the examples in the help of %s use only options that exist',
  (path, { options = {}, examples = [] }) => {
    expect(examples.length).toBeGreaterThan(0);
    const known = Object.values(options).flatMap(({ flags, short }) => [
      flags.split(' ')[0],
      ...(short === undefined ? [] : [`-${short}`]),
    ]);
    for (const example of examples) {
      const call = example.split(/[|<>]/).find((part) => part.includes(`automate ${path}`));
      const words = (call ?? '').replace(/'[^']*'/g, 'quoted').split(' ');
      expect(known).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith('-'))));
      expect([path, call]).toEqual([path, expect.stringContaining(`automate ${path}`)]);
    }
  },
);

test('run --help lists its options in groups', async () => {
  const { stdout } = await (await workplace()).automate(['run', '--help']);
  expect(stdout.match(/^[A-Z]\w+:/gm)).toEqual(
    expect.arrayContaining(['Input:', 'Output:', 'Limits:', 'Showing:', 'Requests:', 'Examples:']),
  );
});

test("the parser stores an option's value under the name that the command declares", () => {
  for (const [path, { options = {} }] of paths) {
    const [outer, inner] = path.split(' ');
    const group = program.commands.find((command) => command.name() === outer);
    const command = inner === undefined ? group : group?.commands.find((candidate) => candidate.name() === inner);
    expect([path, command?.options.map((option) => option.attributeName())]).toEqual([path, Object.keys(options)]);
  }
});

test('run --help lists every exit code', async () => {
  const { stdout } = await (await workplace()).automate(['run', '--help']);
  const told = stdout.slice(stdout.indexOf('Exit codes:')).match(/\d+/g)?.map(Number);
  const signals = (['SIGHUP', 'SIGINT', 'SIGTERM'] as const).map(signalExitCode);
  expect(new Set(told)).toEqual(new Set([...Object.values(exitCodes), ...signals]));
});

test('connections add --help lists every type of auth', () => {
  const words = addOptions.auth.help.split(/[ ,]+/);
  expect(words).toEqual(expect.arrayContaining([...allAuthNames]));
});

test('--version prints the version of the package', async () => {
  expect((await (await workplace()).automate(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each(['--help', 'run --help', 'help', '--version'])(
  'automate %s exits with 74 on a full disk and with 141 on a closed pipe',
  async (args) => {
    const place = await workplace();
    const { code, stderr } = await shell(place, `node "$AUTOMATE" ${args} > /dev/full`);
    expect([code, stderr]).toEqual([74, expect.stringMatching(/^automate: stdout cannot be written: ENOSPC/)]);
    expect(await shell(place, `set -o pipefail; node "$AUTOMATE" ${args} | true`)).toMatchObject({ code: 141, stderr: '' });
  },
);

describe('an invalid command line', () => {
  test.each([
    [['rum'], /^automate: unknown command 'rum'\n\(Did you mean run\?\)/],
    [['help', 'rum'], /^automate: unknown command 'rum'\n\(Did you mean run\?\)/],
    [['flow.yaml', '--in', 'a.csv'], /^automate: expected a command, found "flow.yaml"\n {2}to run this flow: automate run flow.yaml\n/],
    [['version'], /^automate: expected a command, found "version"; did you mean --version\?/],
    [
      ['run', 'flow.yaml', '--input', 'a.csv'],
      /^automate: unknown option '--input'\n {2}\(Did you mean --in\?\)\n {2}\(see automate run --help\)/,
    ],
    [['run', 'flow.yaml', '--in', 'a.csv', '--output=b.csv'], /^automate: unknown option '--output'\n {2}\(Did you mean --out\?\)/],
    [['init', '--output', 'b.csv'], /^automate: unknown option '--output'\n(?!.*--out\?)/],
    [
      ['connections', 'add', 'http', 'crm', 'https://a.example'],
      /expected a type and a name, .*: the address goes into --base-url for http/,
    ],
    [['credits', 'limt', '5'], /^automate: unknown command 'limt'\n\(Did you mean limit\?\)/],
    [['run', 'flow.yaml', '--in', 'a.csv', '--forse'], /^automate: unknown option '--forse'\n\(Did you mean --force\?\)/],
    [['run', '--in', 'a.csv'], /missing required argument 'flow'/],
    [['run', 'flow.yaml', 'more.yaml', '--in', 'a.csv'], /too many arguments/],
    [['validate', 'flow.yaml', 'a.csv'], /too many arguments: expected one flow\n {2}write --in before each input file/],
    [['test-request', 'flow.yaml', 'a.csv'], /too many arguments: expected one flow\n {2}write --in before each input file/],
    [['run', 'flow.yaml', '-in', 'a.csv'], /found -in; did you mean --in, with two dashes\?/],
    [['validate'], /missing required argument 'flow'/],
    [['test-request', 'flow.yaml', '--record', '0'], /expected a whole number of at least 1, found "0"/],
    [['run', 'flow.yaml', '--in', 'a.csv', '--workers', 'x'], /expected auto or 1 to 256, found "x"/],
    [['serve', '--workers', '257'], /expected auto or 1 to 256, found "257"/],
    [['test-request', 'flow.yaml', '--set', 'id'], /expected field=value, found "id"/],
    [['demo', '--port', 'x'], /expected a whole number of at least 0, found "x"/],
    [['completion'], /missing required argument 'shell'/],
    [['run', '', '--in', 'a.csv'], /argument 'flow'.* expected the name of a file, found ""/],
    [['run', 'flow.yaml', '--in', ''], /option '-i, --in <file>' .* expected the name of a file, found ""/],
    [['run', 'flow.yaml', '--in', 'a.csv', '--out', 'b.csv', '--errors='], /option '--errors <file>' .* expected the name of a file/],
    [['run', 'flow.yaml', '--in', 'a.csv', '--summary', ''], /option '--summary <file>' .* expected the name of a file/],
    [['connections', 'test', 'crm', '--cacert', ''], /option '--cacert <file>' .* expected the name of a file/],
  ])('exits with 2, and the message refers to the right help page: %s', async (args, message) => {
    const { code, stdout, stderr } = await (await workplace()).automate(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/\(see automate (?:[a-z-]+ ){0,2}--help\)\n$/);
  });

  test('exits with 2 and prints the help if there is no command', async () => {
    const { code, stdout, stderr } = await (await workplace()).automate([]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: automate');
  });
});

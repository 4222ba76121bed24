import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { type Finished, workplace } from '../helpers/cli.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { nodeTypes } from '../helpers/node-types.ts';
import { shell } from '../helpers/shell.ts';

const types = nodeTypes.map(({ name }) => name);

const scripts = new Map<string, Promise<Finished>>();

/** Returns the completion script for a shell. */
function script(shell: string): Promise<Finished> {
  const made = scripts.get(shell) ?? workplace().then((place) => place.automate(['completion', shell]));
  scripts.set(shell, made);
  return made;
}

/** Returns the completions that bash offers after these words. */
function offered(text: string, words: readonly string[]): string[] {
  const line = ['automate', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `${text}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _automate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', ask], { encoding: 'utf8' }).trim().split('\n');
}

describe('the completion script', () => {
  describe.each(['bash', 'zsh', 'fish'])('for %s', (shell) => {
    const isInstalled = spawnSync(shell, ['--version']).status === 0;

    test.skipIf(!isInstalled)(`has valid syntax${isInstalled ? '' : ' (skipped: it is not installed)'}`, async () => {
      const { stdout } = await script(shell);
      // fish needs a file, because it cannot read a script from a socket, and the stdin of a child process is a socket.
      const { folder } = await workplace({ script: stdout });
      expect(spawnSync(shell, ['-n', 'script'], { cwd: folder, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    });
  });

  test.each(['bash', 'zsh', 'fish'])('for %s contains every command and option', async (shell) => {
    const { code, stdout, stderr } = await script(shell);
    expect([code, stderr]).toEqual([0, '']);
    for (const word of ['run', 'test-request', 'validate', 'nodes', 'schema', 'completion', 'demo', 'credentials', 'connections', 'help'])
      expect(stdout).toContain(word);
    for (const option of ['max-errors', 'no-send', 'cacert', 'in-format', 'serve', 'base-url', 'expires']) expect(stdout).toContain(option);
    // An even number of quotes means that every quote is closed.
    expect(stdout.replace(/\\'/g, '').split("'").length % 2).toBe(1);
  });
});

test("bash completes commands, then the command's options, then files", async () => {
  const { stdout } = await script('bash');
  expect(offered(stdout, ['r'])).toEqual(['run', 'retry']);
  expect(offered(stdout, ['run', '--con'])).toEqual(['--concurrency']);
  expect(offered(stdout, ['test-request', 'flow.yaml', '--no'])).toEqual(['--node', '--no-send', '--no-header']);
  expect(offered(stdout, ['run', 'fl'])).toEqual(['']);
  expect(stdout).toContain('complete -o default -F _automate automate');
});

test('bash completes the values of arguments and options', async () => {
  const { stdout } = await script('bash');
  expect(offered(stdout, ['completion', ''])).toEqual(['bash', 'zsh', 'fish']);
  expect(offered(stdout, ['nodes', ''])).toEqual(types);
  expect(offered(stdout, ['help', 'v'])).toEqual(['validate']);
  expect(offered(stdout, ['run', 'flow.yaml', '--in-format', 'n'])).toEqual(['ndjson']);
  expect(offered(stdout, ['run', 'flow.yaml', '--out-format', ''])).toEqual(['csv', 'tsv', 'json', 'ndjson', 'jsonl', 'xlsx']);
  expect(offered(stdout, ['he'])).toEqual(['help']);
});

test('bash completes subcommands and their options', async () => {
  const { stdout } = await script('bash');
  expect(offered(stdout, ['credentials', ''])).toEqual(['set', 'list', 'show', 'remove', 'restore', 'check', 'backend', '--help']);
  expect(offered(stdout, ['connections', 'a'])).toEqual(['add']);
  expect(offered(stdout, ['credits', '--'])).toEqual(['--json', '--help']);
  expect(offered(stdout, ['connections', 'add', 'http', '--to'])).toEqual(['--token-url']);
  expect(offered(stdout, ['credentials', 'set', 'crm', '--backend', ''])).toEqual(['keychain', 'vault']);
  expect(offered(stdout, ['connections', 'add', 'http', 'crm', '--auth', 'b'])).toEqual(['bearer', 'basic']);
  expect(offered(stdout, ['credentials', 'list', 'cr'])).toEqual(['']);
});

test.each([
  [
    'zsh',
    [
      /completion'\) .*'1:value:\(bash zsh fish\)'/,
      new RegExp(`nodes'\\) .*'1:value:\\(${types.join(' ')}\\)'`),
      /'--in-format\[[^\]]*\]:value:\(csv tsv/,
      /credits\) inner=\(.*'--json:print JSON instead of text'\)/,
    ],
  ],
  [
    'fish',
    [
      /from completion' -f -a 'bash zsh fish'/,
      new RegExp(`from nodes' -f -a '${types.join(' ')}'`),
      /-l out-format -r -f -a 'csv tsv/,
      /not __fish_seen_subcommand_from limit history export' -l json /,
    ],
  ],
])('%s completes option values and subcommands', async (shell, lines) => {
  const { stdout } = await script(shell);
  for (const line of lines) expect(stdout).toMatch(line);
});

test.each(['tcsh', 'constructor', ''])('automate completion refuses the unknown shell "%s"', async (shell) => {
  expect(await script(shell)).toEqual({ code: 2, stdout: '', stderr: `automate: expected bash, zsh, fish, found "${shell}"\n` });
});

test('bash completes the subcommands of keys, and the scopes of a new key', async () => {
  const { stdout } = await script('bash');
  expect(offered(stdout, ['keys', ''])).toEqual(['create', 'list', 'show', 'usage', 'change', 'rotate', 'revoke', '--help']);
  expect(offered(stdout, ['keys', 'create', 'crm', '--scopes', ''])).toEqual(['run', 'test', 'read']);
});

test('bash completes the names of saved credentials, connections and keys', async () => {
  const place = await vaultPlace();
  const { stdout: completion } = await place.automate(['completion', 'bash']);
  await place.automate(['credentials', 'set', 'crm-token', '--backend', 'vault'], { stdin: 'sesame-7f3a', env: place.env });
  await place.automate(['connections', 'add', 'http', 'crm', '--base-url', 'https://crm.example.com', '--auth', 'none']);
  await place.automate(['keys', 'create', 'shop']);
  const offers = async (words: string) => {
    const ask = `COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _automate; echo "\${COMPREPLY[@]}"`;
    return (await shell(place, `${completion}\nCOMP_WORDS=(automate ${words} ""); ${ask}`)).stdout;
  };
  expect(await offers('credentials remove')).toBe('crm-token\n');
  expect(await offers('connections show')).toBe('crm\n');
  expect(await offers('keys rotate')).toBe('shop\n');
  expect(await offers('connections add http other --credential')).toBe('crm-token\n');
});

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Failure, LimitReached } from '../../src/core/failure.ts';
import { commandWords } from '../../src/credentials/command-run.ts';
import { SecretCommands, type SecretUser } from '../../src/credentials/command-secrets.ts';
import type { StoredCommand } from '../../src/credentials/secret.ts';
import { readProc } from '../helpers/processes.ts';

const seconds = 1000;

/** Creates a folder for scripts, and secrets that come from commands. Only the test changes the clock. */
function scene(environment: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'automate-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const time = { ms: 0, expire: () => {} };
  const clock = {
    now: () => time.ms,
    wallNow: () => time.ms,
    sleepUntil: (untilMs: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        expect(untilMs - time.ms).toBe(30 * seconds);
        time.expire = resolve;
        signal?.addEventListener('abort', () => resolve());
      }),
  };
  const machine = new SecretCommands({ environment: Object.assign(environment, { PATH: process.env.PATH }), clock });
  const script = (text: string, name = 'command.sh') => {
    writeFileSync(join(folder, name), `cd '${folder}'\necho run >> runs\n${text}\n`);
    return `sh '${join(folder, name)}'`;
  };
  return {
    time,
    path: (name: string) => join(folder, name),
    read: (name: string) => readFileSync(join(folder, name), 'utf8'),
    runs: () => (existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8').split('\n').length - 1 : 0),
    script,
    /** Returns the secrets of the credential `crm`, whose command runs the script `text`. */
    secrets(text: string, more: Partial<StoredCommand> = {}, user: Partial<SecretUser> = {}) {
      const hidden: string[] = [];
      const command: StoredCommand = {
        name: 'crm',
        env: 'default',
        backend: 'vault',
        setAt: '2030-01-01T00:00:00.000Z',
        command: script(text),
        ...more,
      };
      const given = machine.forUser([command], folder, { hide: (secret) => void hidden.push(secret), ...user });
      const get = async () => (await given.find(['crm'])).get('crm')?.text;
      return {
        hidden,
        given,
        get,
        problem: () =>
          get().then(
            () => expect.unreachable(),
            (error: LimitReached) => error.message,
          ),
      };
    },
  };
}

/** A command that prints a different secret each time. */
const counting = 'echo secret-$(wc -l < runs | tr -d " ")';

describe('the command line of a credential', () => {
  test.each([
    ['op read op://team/crm/token', ['op', 'read', 'op://team/crm/token']],
    ['a  "b  c"\t\'d e\'f', ['a', 'b  c', 'd ef']],
    [String.raw`a\ b "c\"d" 'e\f' "g\h" \i`, ['a b', 'c"d', String.raw`e\f`, String.raw`g\h`, 'i']],
    ['a \'\' ""', ['a', '', '']],
    ['echo $HOME $(id) `id` * ~ | cat > x && y ; z # c', 'echo $HOME $(id) `id` * ~ | cat > x && y ; z # c'.split(' ')],
  ])('is split into words as in a shell, and nothing is expanded: %s', async (line, words) => {
    expect(await commandWords(line)).toEqual(words);
  });

  test.each(['', '  ', "''", '"a', "a 'b", 'a\\'])('is refused if it is not a command: %j', async (line) => {
    await expect(commandWords(line)).rejects.toThrow(/^expected a command/);
  });
});

describe("a credential's command", () => {
  test('runs only once, when the first request needs its secret', async () => {
    const { secrets, runs } = scene();
    const { get } = secrets(counting);
    expect(runs()).toBe(0);
    expect(await Promise.all([get(), get(), secrets(counting).get()])).toEqual(['secret-1', 'secret-1', 'secret-1']);
    expect(await get()).toBe('secret-1');
    expect(runs()).toBe(1);
  });

  test('runs once for each environment, and once more after the credential is replaced', async () => {
    const { secrets, runs } = scene();
    await secrets(counting).get();
    await secrets(counting, { env: 'staging' }).get();
    await secrets(counting, { setAt: '2030-01-02T00:00:00.000Z' }).get();
    expect(runs()).toBe(3);
  });

  test('runs once more after the time in --for, or only once without --for', async () => {
    const { secrets, time } = scene();
    const timed = secrets(counting, { forMs: 50 * seconds });
    const lasting = secrets(counting, { env: 'lasting' });
    expect([await timed.get(), await lasting.get()]).toEqual(['secret-1', 'secret-2']);
    time.ms = 50 * seconds - 1;
    expect(await timed.get()).toBe('secret-1');
    time.ms = 50 * seconds;
    expect([await timed.get(), await lasting.get()]).toEqual(['secret-3', 'secret-2']);
  });

  test("runs without automate's environment variables, and with an empty stdin", async () => {
    const { secrets } = scene({ AUTOMATE_CREDENTIAL_OTHER: 'canary-other', KEPT: 'kept' });
    expect(await secrets('echo "$KEPT-$AUTOMATE_CREDENTIAL_OTHER-$(cat)-end"').get()).toBe('kept---end');
  });

  test.each([
    ["printf 'abc-d'", 'abc-d'],
    ["printf 'abc-d\\r\\n'", 'abc-d'],
    ["printf '\\357\\273\\277abc-d\\n'", 'abc-d'],
    ["printf ' abc-é\\n'", ' abc-é'],
    ['head -c 65536 /dev/zero | tr "\\0" a', 'a'.repeat(65_536)],
  ])('prints the secret, whose last line break is removed: %s', async (text, secret) => {
    expect(await scene().secrets(text).get()).toBe(secret);
  });

  test.each([
    ['echo secret', 'secret'],
    ['head -c 65536 /dev/zero | tr "\\0" a', 'a'.repeat(65_536)],
    ['sleep 0.3; echo late', 'late'],
  ])('is read until it ends, although a process that it has started holds its stdout open: %s', async (text, secret) => {
    const { secrets, path } = scene();
    const held = secrets(`(while [ ! -e done ]; do sleep 0.05; done; touch gone) &\n${text}`).get();
    expect(await held).toBe(secret);
    expect(existsSync(path('gone'))).toBe(false);
    writeFileSync(path('done'), '');
    await expect.poll(() => existsSync(path('gone'))).toBe(true);
  });

  test('that fails is reported, although a process that it has started holds its stdout open', async () => {
    const { secrets, path } = scene();
    const problem = await secrets('(while [ ! -e done ]; do sleep 0.05; done; touch gone) &\necho why >&2; exit 3').problem();
    expect(problem).toContain('ended with exit code 3');
    writeFileSync(path('done'), '');
    await expect.poll(() => existsSync(path('gone'))).toBe(true);
  });
});

describe('a 401 for a request whose secret comes from a command', () => {
  const refuse = async () => ({ status: 401 });

  test.each([
    [10 * seconds, 2],
    [10 * seconds - 1, 1],
  ])(
    'renews the secret only if the secret is at least 10 s old (age of the secret: %i ms; the command runs %i times in total)',
    async (ageMs, count) => {
      const { secrets, runs, time } = scene();
      const { given, get } = secrets(counting);
      await get();
      time.ms = ageMs;
      const sent: (string | undefined)[] = [];
      const { status } = await given.sendWith(['crm'], async (found) => {
        sent.push(found.get('crm')?.text);
        return { status: found.get('crm')?.text === 'secret-1' ? 401 : 200 };
      });
      expect([sent, status]).toEqual([['secret-1', 'secret-2'].slice(0, count), count === 2 ? 200 : 401]);
      expect(runs()).toBe(count);
    },
  );

  test('does not rerun the command if the secret was just renewed', async () => {
    const { secrets, runs, time } = scene();
    const { given } = secrets(counting);
    await given.sendWith(['crm'], refuse);
    expect(runs()).toBe(1);
    time.ms = 11 * seconds;
    for (let count = 0; count < 3; count++) await given.sendWith(['crm'], refuse);
    expect(runs()).toBe(2);
    time.ms = 22 * seconds;
    await given.sendWith(['crm'], refuse);
    expect(runs()).toBe(3);
  });

  test('reruns the command only once, however many requests get a 401', async () => {
    const { secrets, runs, time } = scene();
    const { given, get } = secrets(counting);
    await get();
    time.ms = 11 * seconds;
    const send = (found: ReadonlyMap<string, { text: string }>) =>
      Promise.resolve({ status: found.get('crm')?.text === 'secret-1' ? 401 : 200 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => given.sendWith(['crm'], send)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(runs()).toBe(2);
  });

  test('reruns the command for a client secret if the 401 comes from the token server', async () => {
    const { secrets, time } = scene();
    const { given, get } = secrets(counting);
    await get();
    time.ms = 11 * seconds;
    const used = await given.use('crm', async ({ text }) => {
      if (text === 'secret-1') throw new Failure('http', 'refused', { status: 401 });
      return text;
    });
    expect(used).toBe('secret-2');
    await expect(given.use('crm', () => Promise.reject(new Failure('http', 'no', { status: 401 })))).rejects.toThrow('no');
  });
});

describe("a credential's command that fails", () => {
  const canary = 'canary-5e-88';

  test.each([
    ['exit 3', 'ended with exit code 3'],
    [`echo first >&2; echo 'not signed in' >&2; echo >&2; exit 1`, 'ended with exit code 1: not signed in'],
    [`echo ${canary}; echo 'no ${canary}' >&2; exit 2`, 'ended with exit code 2: no ***'],
    ['kill -9 $$', 'was killed by SIGKILL'],
    [':', 'printed nothing (ended with exit code 0)'],
    ['echo', 'printed nothing (ended with exit code 0)'],
    [`echo ${canary}; echo more; echo ${canary} >&2`, 'printed more than one line (ended with exit code 0): ***'],
    ["printf '%s\\n\\n' abcd", 'printed more than one line (ended with exit code 0)'],
    ["printf 'a\\tb'", 'printed a control character (ended with exit code 0)'],
    ["printf '\\377abc'", 'printed text that is not UTF-8 (ended with exit code 0)'],
    ['head -c 65537 /dev/zero | tr "\\0" a; sleep 100', 'printed more than 64 KB'],
  ])('is reported without the secret that it printed: %s', async (text, problem) => {
    const { secrets } = scene();
    const { get, hidden, given } = secrets(text);
    const error = await get().catch((refused: unknown) => refused);
    expect(error).toBeInstanceOf(LimitReached);
    expect(error).toMatchObject({
      message: `the command of the credential "crm" ${problem}`,
      ending: 'refused-credential',
      code: 'credential',
      details: { credential: 'crm', env: 'default', remedy: 'command' },
    });
    if (text.includes(canary)) expect(hidden).toContain(canary);
    expect([...given.commands.keys()]).toEqual(['crm']);
  });

  test('is reported with the secret of its earlier run masked', async () => {
    const { secrets, time } = scene();
    const text = `[ -e once ] && { echo "lost secret-1" >&2; exit 1; }; touch once; ${counting}`;
    const { get, problem } = secrets(text, { forMs: 1 });
    await get();
    time.ms = 1;
    expect(await problem()).toBe('the command of the credential "crm" ended with exit code 1: lost ***');
  });

  test('is reported with the secrets of all other credentials in environment variables masked', async () => {
    const environment: NodeJS.ProcessEnv = {
      AUTOMATE_CREDENTIAL_OTHER: 'EnvSecret777',
      AUTOMATE_CREDENTIAL_MY_FILE: 'FileSecret88',
      AUTOMATE_CREDENTIAL_PAIR: 'user:PairSecret9',
      OTHER: 'shown',
    };
    const { secrets, path } = scene(environment);
    environment.AUTOMATE_CREDENTIAL_THIRD_FILE = path('third');
    writeFileSync(path('third'), 'InFile-5-5\n');
    expect(await secrets('echo EnvSecret777 FileSecret88 PairSecret9 InFile-5-5 shown >&2; exit 2').problem()).toBe(
      'the command of the credential "crm" ended with exit code 2: *** *** *** *** shown',
    );
  });

  test('is killed after 30 s, together with its child processes', async () => {
    const { secrets, time, read, path } = scene();
    const problem = secrets('echo waiting >&2; sleep 0.5; sleep 300 & echo $! > new; mv new pid; sleep 300').problem();
    await expect.poll(() => existsSync(path('pid'))).toBe(true);
    time.expire();
    expect(await problem).toBe('the command of the credential "crm" did not end within 30 s: waiting');
    await expect.poll(() => readProc(Number(read('pid')), 'cmdline')).toBe('');
  });

  test.each([
    ['no-such-program-here', 'cannot be started: there is no program "no-such-program-here"'],
    ['ghp_0123456789abcdefghijklmnopqrstuvwxyzAB', 'cannot be started: there is no program'],
    ['TOKEN=s3cr3t op read x', 'cannot be started: there is no program "TOKEN=..."'],
    ['/dev/null', 'cannot be started: the program "/dev/null" is not executable'],
    ["'", /^the command of the credential "crm" cannot be read: expected a command/],
  ])('is reported if it cannot be started: %s', async (command, problem) => {
    const { problem: found } = scene().secrets('', { command });
    const message = await found();
    if (typeof problem === 'string') expect(message).toBe(`the command of the credential "crm" ${problem}`);
    else expect(message).toMatch(problem);
  });

  test('runs once more for the next request that needs its secret', async () => {
    const { secrets, runs } = scene();
    const { problem } = secrets('exit 1');
    await Promise.all([problem(), problem()]);
    expect(runs()).toBe(1);
    await problem();
    expect(runs()).toBe(2);
  });
});

describe('a secret from a command', () => {
  test('is masked, and so is every secret that the command printed before', async () => {
    const { secrets, time } = scene();
    const first = secrets(counting, { forMs: 1 });
    await first.get();
    time.ms = 1;
    await first.get();
    const second = secrets(counting, { forMs: 1 });
    await second.get();
    expect(new Set(second.hidden)).toEqual(new Set(['secret-1', 'secret-2']));
  });

  test('keeps the hosts and expiry of its credential, and is refused if its format is wrong', async () => {
    const { secrets } = scene();
    const limits = {
      hosts: ['a.test'],
      expiresAt: '2031-01-01T00:00:00.000Z',
      env: 'staging',
      previous: { setAt: '2029-01-01T00:00:00.000Z' },
    };
    expect((await secrets('echo abcd', limits).given.find(['crm', 'other'])).get('crm')).toEqual({
      text: 'abcd',
      from: 'its command',
      setAt: '2030-01-01T00:00:00.000Z',
      expiresAt: limits.expiresAt,
      hosts: ['a.test'],
      env: 'staging',
      hasPrevious: true,
    });
    const refusing = secrets('echo abcd', {}, { problem: () => 'expected a pair' });
    expect(await refusing.problem()).toBe('the command of the credential "crm" did not print a usable secret: expected a pair');
  });

  test('can be typed into the terminal, which the command gets and gives back even if it fails', async () => {
    const { secrets, path, script } = scene();
    writeFileSync(path('typed'), 'typed-1\n');
    const { openSync, closeSync } = await import('node:fs');
    const shown: string[] = [];
    let lent = 0;
    const lend = () => {
      const input = openSync(path('typed'), 'r');
      lent++;
      return {
        input,
        write: (chunk: Buffer) => void shown.push(chunk.toString()),
        giveBack() {
          closeSync(input);
          lent--;
        },
      };
    };
    expect(await secrets('printf "PIN: " >&2; read pin; echo "$pin"', {}, { lend }).get()).toBe('typed-1');
    expect(await secrets('', { env: 'other', command: script('exit 1', 'failing.sh') }, { lend }).problem()).toContain('exit code 1');
    expect([shown.join(''), lent]).toEqual(['PIN: ', 0]);
  });
});

describe('a command that prints AWS credentials, which say when they expire', () => {
  const minutes = 60 * seconds;
  const printed = (...expirations: string[]) =>
    `n=$(wc -l < runs | tr -d " ")\nset -- ${expirations.join(' ')}\neval "at=\\\${$n}"\necho "{\\"AccessKeyId\\":\\"AKID$n\\",\\"SecretAccessKey\\":\\"secret\\",\\"Expiration\\":\\"$at\\"}"`;

  test('runs again a minute before they expire', async () => {
    const { secrets, time, runs } = scene();
    const { get } = secrets(printed('1970-01-01T00:15:00Z', '1970-01-01T01:00:00+00:00'));
    expect(await get()).toContain('AKID1');
    time.ms = 14 * minutes - 1;
    expect(await get()).toContain('AKID1');
    time.ms = 14 * minutes;
    expect(await Promise.all([get(), get()])).toEqual([expect.stringContaining('AKID2'), expect.stringContaining('AKID2')]);
    time.ms = 59 * minutes - 1;
    expect(await get()).toContain('AKID2');
    expect(runs()).toBe(2);
  });

  test('is not bound to a time that cannot be read', async () => {
    const { secrets, time, runs } = scene();
    const { get } = secrets(printed('soon'));
    await get();
    time.ms = 1000 * minutes;
    await get();
    expect(runs()).toBe(1);
  });
});

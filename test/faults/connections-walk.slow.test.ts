import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { savedConnections, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { hasTerminal, shellEnvironment, unlessTerminal } from '../helpers/shell.ts';

const keys = { enter: '\r', down: '\x1b[B', ctrlC: '\x03', ctrlD: '\x04', clear: '\x15' };

/** A string to wait for on the screen, and the keys to press when it appears. */
type Answer = readonly [shown: string, typed: string];

/** Runs a shell command in a new terminal, and types each answer when its question appears. */
async function atTerminal(place: Workplace, command: string, answers: readonly Answer[], env: Record<string, string> = {}) {
  const script = `stty cols 200 rows 50; automate() { node "$AUTOMATE" "$@"; }; ${command}`;
  const child = spawn('script', ['-qec', script, '/dev/null'], {
    cwd: place.folder,
    env: { ...shellEnvironment(place), TERM: 'xterm', ...env },
  });
  onTestFinished(() => void child.kill());
  let written = '';
  let shown = '';
  let seen = 0;
  const left = [...answers];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they move the cursor and set colors
    shown = written.replace(/\x1b(?:\[[0-9;?]*(?:[A-Za-z]|$)|$)/g, '');
    for (let [next] = left; next; [next] = left) {
      const at = shown.indexOf(next[0], seen);
      if (at < 0) return;
      seen = next[1] === '' ? at + next[0].length : shown.length;
      left.shift();
      child.stdin.write(next[1]);
    }
  });
  // The timeout ends the command if an unexpected question waits for an answer.
  const tooLong = setTimeout(() => child.kill(), 150_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(tooLong);
  return { code, shown, unasked: left.map(([question]) => question) };
}

/** Returns the content of the files in the home folder, by name. */
async function stateOf(place: Workplace): Promise<Record<string, string>> {
  const names = await readdir(place.path('.automate')).catch(() => []);
  return Object.fromEntries(await Promise.all(names.sort().map(async (name) => [name, await place.read(`.automate/${name}`)])));
}

const token = `ghp_${'16C7e42F292c6912E7710c838347Ae178B4a'}`;

describe.skipIf(!hasTerminal)(`interactive commands in a terminal${unlessTerminal}`, () => {
  const enter = (text: string) => text + keys.enter;

  test('automate connections add asks for missing values, and repeats a question after an invalid answer', async () => {
    const place = await workplace();
    const { code, shown, unasked } = await atTerminal(place, 'automate connections add', [
      ['Name of the connection', enter('my crm')],
      ['expected a name of letters', enter(`${keys.clear}crm`)],
      ['Base URL', enter('http://crm.example.com')],
      ['expected an https URL', enter(`${keys.clear}https://crm.example.com/v2`)],
      ['Authentication', enter(keys.down + keys.down)],
      ['Header that carries the key', enter('X Key')],
      ['expected a header name', enter(`${keys.clear}X-Key`)],
      ['Name of the credential that holds the key', enter('crm key')],
      ['expected a name of letters', enter(`${keys.clear}${token}`)],
      ['found what looks like the secret itself', enter(`${keys.clear}crm-key`)],
      ['Maximum rate of requests', enter('ten')],
      ['expected a rate such as', enter(`${keys.clear}10/s`)],
      ['Store its secret now?', enter('')],
    ]);
    expect({ code, unasked }).toEqual({ code: 0, unasked: [] });
    expect(shown).toContain('"crm" is saved; try it: automate connections test crm');
    const auth = { type: 'api_key', header: 'X-Key', credential: 'crm-key' };
    expect(await savedConnections(place)).toEqual([
      { name: 'crm', type: 'http', base_url: 'https://crm.example.com/v2', auth, rate: '10/s' },
    ]);
  });

  test('automate test-request --write lets the user choose paths for the map', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'Ada', plan: 'pro' }));
    const place = await workplace({ 'flow.yaml': `nodes:\n  - type: http\n    url: "${server.origin}/"\n` });
    const { code, unasked } = await atTerminal(place, 'automate test-request flow.yaml --write', [
      ['paths for the map', `${keys.down} ${keys.enter}`],
    ]);
    expect({ code, unasked }).toEqual({ code: 0, unasked: [] });
    expect(await place.read('flow.yaml')).toMatch(/\n {4}map:\n {6}plan: plan\n$/);
  });

  test('automate connections add shows examples that do not look like defaults for Enter', async () => {
    const place = await workplace();
    const { code, shown } = await atTerminal(place, 'automate connections add', [
      ['Name of the connection, such as crm', enter('')],
      ['expected a name', enter(`${keys.clear}crm`)],
      ['Base URL, such as https://crm.example.com/v2', keys.ctrlC],
    ]);
    expect(code).toBe(130);
    expect(shown.replace(/such as \S+/g, '')).not.toContain('crm.example.com');
  });

  test.each<[what: string, args: string, answers: Answer[], saved: object]>([
    [
      'only what is missing, and sets no limit if none is entered',
      'http crm --auth bearer --credential crm-token',
      [
        ['Base URL', enter('https://crm.example.com')],
        ['Maximum rate of requests', enter('')],
      ],
      { base_url: 'https://crm.example.com', auth: { type: 'bearer', credential: 'crm-token' } },
    ],
    [
      'only what the auth type needs if the command contains the rest',
      'http crm --base-url https://crm.example.com --auth oauth2 --credential crm-token',
      [
        ['URL of the token server', enter('auth.example.com')],
        ['expected an absolute https URL', enter(`${keys.clear}http://auth.example.com`)],
        ['expected an absolute https URL', enter(`${keys.clear}https://auth.example.com/token`)],
        ['Client id', enter('')],
        ['expected a value, found nothing', enter('me')],
      ],
      {
        base_url: 'https://crm.example.com',
        auth: { type: 'oauth2_client_credentials', token_url: 'https://auth.example.com/token', client_id: 'me', credential: 'crm-token' },
      },
    ],
    [
      'a value with a default, which is accepted with Enter',
      'http crm --base-url https://crm.example.com --auth api_key',
      [
        ['Header that carries the key', enter('')],
        ['Name of the credential', enter('')],
      ],
      { base_url: 'https://crm.example.com', auth: { type: 'api_key', header: 'X-API-Key', credential: 'crm-token' } },
    ],
    [
      'a user name and its password',
      'http crm --auth basic',
      [
        ['Base URL', enter('https://crm.example.com')],
        ['User name', enter('me')],
        ['Name of the credential that holds the password', enter('')],
        ['Maximum rate of requests', enter('')],
        ['Store its secret now?', enter('')],
      ],
      { base_url: 'https://crm.example.com', auth: { type: 'basic', username: 'me', credential: 'crm-login' } },
    ],
    [
      'no user name if the secret contains it',
      'http crm --auth basic --credential pair',
      [
        ['Base URL', enter('https://crm.example.com')],
        ['User name', enter('')],
        ['Maximum rate of requests', enter('')],
        ['the secret of "pair" has to be username:password', ''],
        ['Store its secret now?', enter('')],
      ],
      { base_url: 'https://crm.example.com', auth: { type: 'basic', credential: 'pair' } },
    ],
    [
      'nothing if the command contains every value',
      'http crm --base-url https://crm.example.com',
      [],
      { base_url: 'https://crm.example.com' },
    ],
  ])('automate connections add asks for %s', async (_, args, answers, saved) => {
    const place = await workplace();
    const env = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'sesame' };
    const { code, unasked } = await atTerminal(place, `automate connections add ${args}`, answers, env);
    expect({ code, unasked }).toEqual({ code: 0, unasked: [] });
    expect(await savedConnections(place)).toEqual([{ name: 'crm', type: 'http', ...saved }]);
  });

  test.each<[where: string, answers: Answer[]]>([
    ['at once', [['Name of the connection', keys.ctrlC]]],
    [
      'at the last question',
      [
        ['Name of the connection', enter('crm')],
        ['Base URL', enter('https://crm.example.com')],
        ['Authentication', enter('')],
        ['Maximum rate of requests', `10/s${keys.ctrlC}`],
      ],
    ],
  ])('automate connections add is cancelled by Ctrl-C %s, and saves nothing', async (_, answers) => {
    const place = await workplace();
    const { code, shown, unasked } = await atTerminal(place, 'automate connections add', answers);
    expect({ code, unasked }).toEqual({ code: 130, unasked: [] });
    expect(shown).toContain('cancelled; nothing was changed');
    expect(await place.files()).toEqual([]);
  });

  test.each<[kind: string, command: string, answers: Answer[]]>([
    ['a value', 'connections add', [['Name of the connection', keys.ctrlD]]],
    ['a half-entered value', 'connections add', [['Name of the connection', `cr${keys.ctrlD}`]]],
    ['a value with a default', 'connections add http crm --base-url https://a.example.com --auth api_key', [['Header that', keys.ctrlD]]],
    [
      'an optional value',
      'connections add http crm --auth none',
      [
        ['Base URL', enter('https://a.example.com')],
        ['Maximum rate of requests', keys.ctrlD],
      ],
    ],
    [
      'a choice',
      'connections add http crm',
      [
        ['Base URL', enter('https://a.example.com')],
        ['Authentication', keys.ctrlD],
      ],
    ],
    ['a secret', 'credentials set key --backend vault', [['Secret for "key"', keys.ctrlD]]],
    [
      'a new passphrase',
      'credentials set key --backend vault',
      [
        ['Secret for "key"', enter('sesame')],
        ['Choose a passphrase for the new vault', keys.ctrlD],
      ],
    ],
    [
      'the repetition of a new passphrase',
      'credentials set key --backend vault',
      [
        ['Secret for "key"', enter('sesame')],
        ['Choose a passphrase for the new vault', enter('open')],
        ['Repeat it', keys.ctrlD],
      ],
    ],
  ])('a command is cancelled by Ctrl-D at the question for %s, and stores nothing', async (_, command, answers) => {
    const place = await workplace();
    const { code, shown, unasked } = await atTerminal(place, `automate ${command}`, answers);
    expect({ code, unasked }).toEqual({ code: 130, unasked: [] });
    expect(shown).toContain('automate: cancelled; nothing was changed');
    expect(await stateOf(place)).toEqual({});
  });

  test.each(Object.entries({ 'Ctrl-C': keys.ctrlC, 'Ctrl-D': keys.ctrlD }))(
    'automate connections add reports that the connection is saved if %s cancels a later question',
    async (_, key) => {
      for (const answers of [
        [['Store its secret now?', key]],
        [
          ['Store its secret now?', 'y'],
          ['Secret for "c"', key],
        ],
      ] as const) {
        const place = await workplace();
        const command = 'automate connections add http crm --base-url https://crm.example.com --credential c';
        const { code, shown, unasked } = await atTerminal(place, command, answers);
        expect({ code, unasked }).toEqual({ code: 130, unasked: [] });
        expect(shown).toContain('cancelled; "crm" is saved without a secret');
        expect(shown).not.toContain('nothing was changed');
        expect(Object.keys(await stateOf(place))).toEqual(['connections.json']);
      }
    },
  );

  test.each(
    ['run flow.yaml --in rows.csv --out out.csv', 'validate flow.yaml', 'credentials check', 'credentials remove key --force'].flatMap(
      (command) => Object.entries({ 'Ctrl-C': keys.ctrlC, 'Ctrl-D': keys.ctrlD }).map(([name, key]) => [name, command, key] as const),
    ),
  )("the question for the vault's passphrase is cancelled by %s, and nothing is changed: `%s`", async (_, command, key) => {
    const server = await answeringServer(() => ({}));
    const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: bearer, credential: key } }]\n`;
    const place = await vaultPlace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n' });
    expect(await place.automate(['credentials', 'set', 'key'], { env: place.env, stdin: 'sesame' })).toMatchObject({ code: 0 });
    const before = await stateOf(place);
    const { code, shown, unasked } = await atTerminal(place, `automate ${command}`, [['Passphrase of the vault', key]]);
    expect({ code, unasked }).toEqual({ code: 130, unasked: [] });
    expect(shown).toContain('automate: cancelled; nothing was changed');
    expect(await stateOf(place)).toEqual(before);
    expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
    expect(server.requests).toEqual([]);
  });

  describe('the question for a secret in a terminal', () => {
    // No message of the program contains any of these characters.
    const secret = '§¶¤þ¬µ';
    const passphrase = 'ÐØÆ×÷ßÞ';
    const characters = new RegExp(`[${secret}${passphrase}]`);

    /** Starts a server, and creates a workplace with a flow that sends the credential `key` to this server. */
    async function keyed() {
      const server = await answeringServer(() => ({}));
      const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: api_key, query: k, credential: key } }]\n`;
      return { server, place: await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n2\n' }) };
    }

    test('shows no character of the secret, even while records arrive through a pipe', async () => {
      const { server, place } = await keyed();
      const set = await atTerminal(place, 'automate credentials set key --backend vault', [
        ['Secret for "key"', enter(secret)],
        ['Choose a passphrase for the new vault', enter(passphrase)],
        ['Repeat it', enter('ÐØÆ')],
        ['the two passphrases differ', enter(keys.clear + passphrase)],
      ]);
      expect(set).toMatchObject({ code: 0, unasked: [], shown: expect.stringContaining('"key" is stored in the vault') });
      const command = 'cat rows.csv | automate run flow.yaml --in - --in-format csv --out out.csv';
      const wrong = await atTerminal(place, command, [
        ['Passphrase of the vault', enter('ÐØÆ')],
        ['◆  That is not the passphrase', enter('×÷')],
        ['◆  That is not the passphrase', enter('ßÞ')],
      ]);
      expect(wrong).toMatchObject({ code: 7, unasked: [] });
      expect(server.requests).toEqual([]);
      const right = await atTerminal(place, command, [
        ['Passphrase of the vault', enter('ÐØÆ')],
        ['◆  That is not the passphrase', enter(passphrase)],
      ]);
      expect(right).toMatchObject({ code: 0, unasked: [] });
      expect(server.requests.map(({ path }) => path)).toEqual([1, 2].map((id) => `/${id}?k=${encodeURIComponent(secret)}`));
      expect(await place.read('out.csv')).toBe('id\n1\n2\n');
      for (const { shown } of [set, wrong, right]) expect(shown).not.toMatch(characters);
    });

    test('stores nothing if it is cancelled with Ctrl-C', async () => {
      const place = await workplace();
      const { code, shown } = await atTerminal(place, 'automate credentials set key --backend vault', [
        ['Secret for "key"', `${secret}${keys.ctrlC}`],
      ]);
      expect(code).toBe(130);
      expect(shown).not.toMatch(characters);
      expect(await place.files()).toEqual([]);
    });

    test('stores the secret in the same command as a new connection', async () => {
      const place = await workplace();
      const { code, shown, unasked } = await atTerminal(
        place,
        'automate connections add http crm --base-url https://crm.example.com --auth bearer --credential crm-token',
        [
          ['Store its secret now?', 'y'],
          ['Secret for "crm-token"', enter(secret)],
        ],
        { AUTOMATE_VAULT_PASSPHRASE: 'a passphrase of some length' },
      );
      expect({ code, unasked }).toEqual({ code: 0, unasked: [] });
      expect(shown).toMatch(/"crm" is saved[\s\S]*"crm-token" is stored in the vault/);
      expect(shown).not.toMatch(characters);
    });
  });
});

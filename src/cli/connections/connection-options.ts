import { headerArgument, listArgument, passCredentialArgument, wholeNumber } from '../arguments.ts';
import { defaultsTo, flag, grouped, negated, parsed, text, type ValuesOf } from '../options.ts';
import { cacertOption } from '../shared-options.ts';

const authChoices = async () => (await import('../../core/auth/auth.ts')).allAuthNames;

/** The options of `automate connections add`. */
export const addOptions = {
  ...grouped('For http', { baseUrl: text('--base-url <url>', 'base of the relative URLs in flows') }),
  ...grouped('For mcp', {
    url: text('--url <url>', 'the URL of the server (Streamable HTTP, or SSE)'),
    command: text('--command <line>', 'command that starts the server on this machine (stdio)'),
    passEnv: parsed('--pass-env <name>', listArgument, 'pass this variable to the --command; may be repeated'),
    passCredential: parsed(
      '--pass-credential <var=name>',
      passCredentialArgument,
      'pass the secret of a credential to the --command in a variable; may be repeated',
    ),
    startTimeout: text('--start-timeout <duration>', 'how long the server may take to start, such as 60s'),
    test: negated('--no-test', 'save it without asking the server first'),
  }),
  ...grouped('Authentication', {
    auth: text('--auth <type>', 'none, bearer, api_key, basic, oauth2_client_credentials or, for mcp, oauth2_authorization_code', {
      choices: authChoices,
    }),
    credential: text('--credential <name>', 'name of the credential that holds the secret', { listedBy: 'credentials' }),
    header: text('--header <name>', 'api_key: header that carries the key'),
    query: text('--query <name>', 'api_key: query parameter that carries the key'),
    username: text('--username <name>', 'basic: user name; without it the secret is username:password'),
    tokenUrl: text('--token-url <url>', 'oauth2_client_credentials: URL of the token server'),
    clientId: text('--client-id <id>', 'oauth2: client id; oauth2_authorization_code does without it if the server registers clients'),
    clientCredential: text(
      '--client-credential <name>',
      'oauth2_authorization_code: credential that holds the client secret, if the client has one',
    ),
    scopes: parsed('--scopes <scopes>', listArgument, 'oauth2: such as read,write'),
  }),
  ...grouped('Requests', {
    setHeader: defaultsTo(
      [],
      parsed('--set-header <header>', headerArgument, "add a header to every request, such as 'Accept: application/json'; may be repeated"),
      'none',
    ),
    rate: text('--rate <rate>', 'maximum rate of requests, such as 10/s'),
    concurrency: parsed('--concurrency <n>', wholeNumber(1), 'at most N requests in flight at once'),
    allowHttp: flag('--allow-http', 'allow an http:// URL to another machine'),
  }),
  ...grouped('Test', {
    env: text('--env <name>', 'environment of the credentials, such as staging (default: AUTOMATE_ENV, else default); not --pass-env'),
    cacert: cacertOption(),
  }),
  ...grouped('Saving', { force: flag('--force', 'replace an existing connection of that name', { short: 'f' }) }),
};

/** The values of the options of `automate connections add`. */
export type AddOptions = ValuesOf<typeof addOptions>;

/** The path that `automate connections test` requests. */
export const pathOption = defaultsTo('', text('--path <path>', 'path after the base URL'), 'none');

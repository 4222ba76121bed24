import { concurrencyArgument, headerArgument, listArgument, paramArgument, passCredentialArgument } from '../arguments.ts';
import { defaultsTo, flag, grouped, negated, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { cacertOption } from '../shared-options.ts';

const authChoices = async () => (await import('../../core/auth/auth.ts')).allAuthNames;

/** The options of `automate connections add`. */
export const addOptions = {
  ...grouped('For http', { baseUrl: textOption('--base-url <url>', 'base of the relative URLs in flows') }),
  ...grouped('For mcp', {
    url: textOption('--url <url>', 'the URL of the server (Streamable HTTP, or SSE)'),
    command: textOption('--command <line>', 'command that starts the server on this machine (stdio)'),
    passEnv: parsedOption('--pass-env <name>', listArgument, 'pass this variable to the --command; may be repeated'),
    passCredential: parsedOption(
      '--pass-credential <var=name>',
      passCredentialArgument,
      'pass the secret of a credential to the --command in a variable; may be repeated',
    ),
    startTimeout: textOption('--start-timeout <duration>', 'how long the server may take to start, such as 60s'),
    test: negated('--no-test', 'save it without asking the server first'),
  }),
  ...grouped('Authentication', {
    auth: textOption('--auth <type>', 'none, bearer, api_key, basic, oauth2_client_credentials or oauth2_authorization_code', {
      choices: authChoices,
    }),
    credential: textOption('--credential <name>', 'name of the credential that holds the secret', { listedBy: 'credentials' }),
    header: textOption('--header <name>', 'api_key: header that carries the key'),
    query: textOption('--query <name>', 'api_key: query parameter that carries the key'),
    username: textOption('--username <name>', 'basic: user name; without it the secret is username:password'),
    tokenUrl: textOption('--token-url <url>', 'oauth2: URL of the token server'),
    authorizeUrl: textOption(
      '--authorize-url <url>',
      'oauth2_authorization_code: URL where you log in; without it and --token-url, the host of --base-url is asked for both',
    ),
    clientId: textOption(
      '--client-id <id>',
      'oauth2: client id; with --url, oauth2_authorization_code does without it if the server registers clients',
    ),
    clientCredential: textOption(
      '--client-credential <name>',
      'oauth2_authorization_code: credential that holds the client secret, if the client has one',
    ),
    scopes: parsedOption('--scopes <scopes>', listArgument, 'oauth2: such as read,write'),
    params: parsedOption(
      '--params <name=value>',
      paramArgument,
      'oauth2: further parameter of token requests, such as audience=https://api.example.com; may be repeated',
    ),
    clientAuth: textOption('--client-auth <place>', 'oauth2: where the client secret goes in token requests: basic (default) or body', {
      choices: async () => ['basic', 'body'],
    }),
  }),
  ...grouped('Client certificate, for http', {
    clientCert: textOption('--client-cert <file>', 'certificate that the server is shown (mTLS), PEM, such as client.pem'),
    clientKey: textOption('--client-key <file>', 'its private key, PEM'),
    clientKeyPassphrase: textOption('--client-key-passphrase <name>', 'credential that holds the passphrase of an encrypted key', {
      listedBy: 'credentials',
    }),
  }),
  ...grouped('Requests', {
    setHeader: defaultsTo(
      [],
      parsedOption(
        '--set-header <header>',
        headerArgument,
        "add a header to every request, such as 'Accept: application/json'; may be repeated",
      ),
      'none',
    ),
    rate: textOption('--rate <rate>', 'maximum rate of requests, such as 10/s'),
    concurrency: parsedOption('--concurrency <n>', concurrencyArgument, 'at most N requests in flight at once; auto: find the number', {
      choices: async () => ['auto'],
    }),
    allowHttp: flag('--allow-http', 'allow an http:// URL to another machine'),
  }),
  ...grouped('Test', {
    env: textOption(
      '--env <name>',
      'environment of the credentials, such as staging (default: AUTOMATE_ENV, else default); not --pass-env',
    ),
    cacert: cacertOption(),
  }),
  ...grouped('Saving', { force: flag('--force', 'replace an existing connection of that name', { short: 'f' }) }),
};

/** The values of the options of `automate connections add`. */
export type AddOptions = ValuesOf<typeof addOptions>;

/** The path that `automate connections test` requests. */
export const pathOption = defaultsTo('', textOption('--path <path>', 'path after the base URL'), 'none');

import { authSetArgument, headerArgument, listArgument, paramArgument, passCredentialArgument } from '../arguments.ts';
import { defaultsTo, flag, grouped, negated, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { cacertOption, runOption } from '../shared-options.ts';

const authChoices = async () => (await import('../../core/auth/auth.ts')).allAuthNames;

/** A value follows the sign. */
const authSetChoices = async () => (await import('../../core/auth/auth.ts')).settableAuthOptions;

export const addOptions = {
  ...grouped('For http', { baseUrl: textOption('--base-url <url>', 'the URL that nodes add their relative URL to') }),
  ...grouped('For mcp', {
    url: textOption('--url <url>', 'the URL of the MCP server (Streamable HTTP, or SSE)'),
    command: textOption('--command <line>', 'a command that starts the MCP server on this machine (stdio)'),
    passEnv: parsedOption(
      '--pass-env <name>',
      listArgument,
      'with --command: an environment variable to pass on to the server; can be repeated',
    ),
    passCredential: parsedOption(
      '--pass-credential <var=name>',
      passCredentialArgument,
      'with --command: an environment variable that passes the secret of a credential to the server; can be repeated',
    ),
    startTimeout: textOption('--start-timeout <duration>', 'how long the server can take to start (default: 60s)'),
    test: negated('--no-test', 'save the connection without testing it'),
  }),
  ...grouped('Authentication', {
    auth: textOption(
      '--auth <type>',
      'how requests are authenticated: none, bearer, api_key, basic, oauth2_client_credentials, oauth2_jwt_bearer, jwt, hmac, aws_sigv4, digest, session or oauth2_authorization_code',
      {
        choices: authChoices,
      },
    ),
    authSet: parsedOption(
      '--auth-set <option=value>',
      authSetArgument,
      'another option of the auth type, such as issuer=12345 or headers.X-Key=partner-17; can be repeated',
      { choices: authSetChoices },
    ),
    credential: textOption('--credential <name>', 'the name of the credential that holds the secret', { listedBy: 'credentials' }),
    header: textOption('--header <name>', 'with api_key: the header that carries the key, such as X-API-Key'),
    query: textOption('--query <name>', 'with api_key: the query parameter that carries the key'),
    username: textOption('--username <name>', 'with basic: the user name; leave it out if the secret is username:password'),
    tokenUrl: textOption('--token-url <url>', 'with oauth2: the URL from which access tokens are requested'),
    authorizeUrl: textOption(
      '--authorize-url <url>',
      'with oauth2_authorization_code: the URL where you log in (default: the one that the host of --base-url publishes; the same for --token-url)',
    ),
    clientId: textOption('--client-id <id>', 'with oauth2: the client id; not needed for an MCP server that registers clients by itself'),
    clientCredential: textOption(
      '--client-credential <name>',
      'with oauth2_authorization_code: the credential that holds the client secret, if the client has one',
    ),
    scopes: parsedOption('--scopes <scopes>', listArgument, 'with oauth2: the scopes to request, such as read,write'),
    params: parsedOption(
      '--params <name=value>',
      paramArgument,
      'with oauth2: an additional parameter for token requests, such as audience=https://api.example.com; can be repeated',
    ),
    clientAuth: textOption(
      '--client-auth <place>',
      'with oauth2: how token requests send the client secret, basic (the Authorization header) or body (default: basic)',
      {
        choices: async () => ['basic', 'body'],
      },
    ),
  }),
  ...grouped('Client certificate, for http', {
    clientCert: textOption('--client-cert <file>', 'the certificate to present to the server (mTLS), a PEM file such as client.pem'),
    clientKey: textOption('--client-key <file>', 'the private key of the certificate, a PEM file'),
    clientKeyPassphrase: textOption(
      '--client-key-passphrase <name>',
      'the credential that holds the passphrase, if the private key is encrypted',
      {
        listedBy: 'credentials',
      },
    ),
  }),
  ...grouped('Requests', {
    setHeader: defaultsTo(
      [],
      parsedOption(
        '--set-header <header>',
        headerArgument,
        "a header for every request, such as 'Accept: application/json'; can be repeated",
      ),
      'none',
    ),
    rate: textOption('--rate <rate>', 'maximum rate of requests, such as 10/s'),
    concurrency: runOption('concurrency', 'send at most N requests at once; auto adapts the number to the server'),
    http2: flag('--http2', 'use HTTP/2 if the server offers it, otherwise HTTP/1.1'),
    allowHttp: flag('--allow-http', 'allow an http:// URL, which is not encrypted, to another machine'),
  }),
  ...grouped('Test', {
    env: textOption('--env <name>', 'environment for the credentials of the test, such as staging (default: $AUTOMATE_ENV, or default)'),
    cacert: cacertOption(),
  }),
  ...grouped('Saving', { force: flag('--force', 'replace an existing connection with this name', { short: 'f' }) }),
};

export type AddOptions = ValuesOf<typeof addOptions>;

export const pathOption = defaultsTo('', textOption('--path <path>', 'the path to request, after the base URL'), 'none');

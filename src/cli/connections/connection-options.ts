import { headerArgument, listArgument, passCredentialArgument, wholeNumber } from '../arguments.ts';
import { defaultsTo, flag, negated, parsed, text, type ValuesOf } from '../options.ts';
import { cacertOption } from '../shared-options.ts';

const authChoices = async () => (await import('../../core/auth/auth.ts')).allAuthNames;

/** The options of `automate connections add`. */
export const addOptions = {
  baseUrl: text('--base-url <url>', 'base of the relative URLs in flows'),
  url: text('--url <url>', 'for mcp: URL of the server (Streamable HTTP, or SSE)'),
  command: text('--command <line>', 'for mcp: command that starts the server on this machine (stdio)'),
  passEnv: parsed('--pass-env <name>', listArgument, 'for --command: pass this variable to the server; may be repeated'),
  passCredential: parsed(
    '--pass-credential <variable=name>',
    passCredentialArgument,
    'for --command: pass the secret of a credential in this variable; may be repeated',
  ),
  auth: text('--auth <type>', 'none, bearer, api_key, basic, oauth2_client_credentials or, for mcp, oauth2_authorization_code', {
    choices: authChoices,
  }),
  credential: text('--credential <name>', 'name of the credential that holds the secret', { listedBy: 'credentials' }),
  header: text('--header <name>', 'for api_key: header that carries the key'),
  query: text('--query <name>', 'for api_key: query parameter that carries the key'),
  username: text('--username <name>', 'for basic; without it the secret is username:password'),
  tokenUrl: text('--token-url <url>', 'for oauth2_client_credentials: URL of the token server'),
  clientId: text(
    '--client-id <id>',
    'for oauth2_client_credentials, and for oauth2_authorization_code if the server does not register clients',
  ),
  clientCredential: text(
    '--client-credential <name>',
    'for oauth2_authorization_code: credential that holds the client secret, if the client has one',
  ),
  scopes: parsed('--scopes <scopes>', listArgument, 'for oauth2_client_credentials and oauth2_authorization_code, such as read,write'),
  setHeader: defaultsTo(
    [],
    parsed('--set-header <header>', headerArgument, "add a header to every request, such as 'Accept: application/json'; may be repeated"),
    'none',
  ),
  rate: text('--rate <rate>', 'maximum rate of requests, such as 10/s'),
  concurrency: parsed('--concurrency <n>', wholeNumber(1), 'at most N requests in flight at once'),
  startTimeout: text('--start-timeout <duration>', 'for mcp: how long the server may take to start, such as 60s'),
  test: negated('--no-test', 'for mcp: save it without asking the server first'),
  env: text(
    '--env <name>',
    'for the test: environment of the credentials, such as staging (default: AUTOMATE_ENV, else default); not --pass-env',
  ),
  cacert: cacertOption('for the test: '),
  allowHttp: flag('--allow-http', 'allow an http:// URL to another machine'),
  force: flag('--force', 'replace an existing connection of that name'),
};

/** The values of the options of `automate connections add`. */
export type AddOptions = ValuesOf<typeof addOptions>;

/** The path that `automate connections test` requests. */
export const pathOption = defaultsTo('', text('--path <path>', 'path after the base URL'), 'none');

import type { CodedMessage, ConnectionSetting, ErrorCode, ErrorDetails, InputHint } from '../core/error-code.ts';
import { detailsOf } from '../core/error-code.ts';
import { FlowError } from '../core/failure.ts';
import { shellWord } from '../core/text/shell-word.ts';
import { variableText } from '../io/credentials/environment.ts';
import { defaultEnv } from '../io/credentials/secret.ts';

const startOver = '\nstart over with --force';

const inputHints: Readonly<Record<InputHint, string>> = {
  'other-encoding': 'if the file has another encoding, name it: --encoding latin1',
  'not-this-encoding': "name the file's encoding: --encoding latin1",
  'utf-16le': 'pass --encoding utf-16le',
  'utf-16be': 'pass --encoding utf-16be',
  gzip: 'name the file .csv.gz (.json.gz, ...), or pass --in-format csv.gz',
  ndjson: 'for one object per line pass --in-format ndjson',
  json: 'if the file is one JSON array, pass --in-format json',
  csv: 'if it is text, name its format: --in-format csv',
  xlsx: 'name the file .xlsx, or pass --in-format xlsx',
};

const settingChecks: Readonly<Record<ConnectionSetting, string>> = {
  authority: 'if the server is yours, name its certificate authority with --cacert FILE',
  auth: 'name the credential: --auth bearer --credential NAME, or log in: --auth oauth2_authorization_code',
  variables: 'pass variables on to the program with --pass-env NAME',
};

/** The text after the message of each error: how to get out of it on the command line. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {
  'variable-missing': ({ variable }) => `\ngive it one: --var ${variable}=VALUE`,
  'input-unreadable': ({ hint, records }) => {
    if (records !== undefined) return `: add --records ${shellWord(records)}`;
    return hint === undefined ? '' : `\n${inputHints[hint]}`;
  },
  'unknown-format': ({ of, formats }) =>
    of === 'in'
      ? `\nor say what it holds: --in-format ${formats.join(', ')}`
      : `\nor say what to write: --out-format ${formats.join(', ')}`,
  'list-of-records': () => '\nfor a list of records pass --in-format json',
  'object-over-lines': () => '\nif all of the input is one object, pass --in-format json',
  'other-delimiter': ({ delimiter }) =>
    delimiter === '\t'
      ? '\nif tabs separate the cells: --delimiter tab'
      : `\nif "${delimiter}" separates the cells: --delimiter '${delimiter}'`,
  'output-exists': ({ of }) =>
    of === 'out'
      ? '\nname another with --out, or overwrite it: at the end of the run with --replace, at once with --force'
      : '\nit may hold failed records of an earlier run: name another with --errors, or overwrite it with --replace or --force',
  'place-refused': ({ of, isRemovable }) => `\n${isRemovable ? 'remove it, or ' : ''}name another with --${of}`,
  'being-written': ({ of }) => `\nwait for it, or name another file with --${of}`,
  'shared-stdout': ({ of }) => `\nname a file: ${of.map((role) => `--${role}`).join(' or ')}`,
  'unfinished-run': ({ out, isRetry }) => {
    const command = isRetry ? `automate retry ${shellWord(out)}` : 'the command line of that run and';
    return `\nresume it: ${command} --resume\nstart over: ${command} --force`;
  },
  'other-run': ({ isReplacing, isComplete }) =>
    isComplete
      ? '\nrun it anew with --replace beside --resume: the old files stay until the new ones are complete'
      : `\nundo these changes, or start over with ${isReplacing ? '--replace, and without --resume' : '--force'}`,
  'journal-damaged': () => startOver,
  'output-changed': () => '\nrestore its content, or start over with --force',
  'update-refused': () => '\nrun every record once, and replace the old files in the end: --replace --update',
  'max-errors': ({ limit }) => ` (--max-errors ${limit})`,
  'max-credits': ({ credits }) => ` (--max-credits ${credits})`,
  allowance: () => ' (automate credits limit changes it)',
  tls: ({ isUnknownAuthority }) => (isUnknownAuthority ? `\n${settingChecks.authority}` : ''),
  'no-files-folder': () => '\nname the folder for files: --files DIR',
  'plain-http': () => '\nor pass --allow-http',
  'private-address': () => '\nif that is what you want: --allow-private',
  'field-missing': ({ unsent }) =>
    unsent.length > 0 ? '; set them with --set field=value' : '\nset it with --set field=value, or take a record with --in FILE --record N',
  'record-dropped': () => '; choose another with --record N',
  credential: credentialAdvice,
  'login-needed': ({ connection, flow, env }) =>
    `\nlog in: automate connections login ${shellWord(connection)}${flowWords(flow)}${envWords(env)}`,
  'no-place-for-secret': ({ credential, isInKeychain }) => {
    const vault = isInKeychain
      ? 'store it in the encrypted vault: --backend vault'
      : 'for the encrypted vault, set AUTOMATE_VAULT_PASSPHRASE (or AUTOMATE_VAULT_PASSPHRASE_FILE) to its passphrase';
    // A secret is never written to a file in the clear, so these are the only ways left.
    return `\ntwo ways out:\n  ${vault}, and run this again\n  or store nothing here, and ${variableText(credential)}, where the flow runs`;
  },
  'secret-stays': ({ credential, env }) =>
    `\nremove it from the list anyway: automate credentials remove ${credential}${envWords(env)} --force`,
  'connection-exists': () => '\nreplace it with --force',
  'connection-failed': ({ part, checks, setting }) => {
    const lines = [...(part === undefined ? [] : [`the trouble is with the ${part}`]), `check ${listed(checks)}`];
    return `\n${[...lines, ...(setting === undefined ? [] : [settingChecks[setting]])].join('\n')}`;
  },
  'connection-missing': ({ connection, type }) =>
    `\nsave it: automate connections add ${type} ${connection} ${type === 'http' ? '--base-url URL' : '--url URL'}`,
  'nothing-to-change': () => '\nname one: --credits, --rate, --expires or --flows',
  'key-missing': () => '\nlist them: automate keys list --all',
};

/** A message with the option to type, or with what else gets out of the error. */
export function messageWithAdvice(coded: CodedMessage): string {
  if (coded instanceof FlowError) return coded.problems.map(messageWithAdvice).join('\n');
  const { message, code } = coded;
  const wrong = detailsOf(coded, 'invalid-option');
  if (wrong) return `${optionName(wrong.option)}: ${message}`;
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(coded, code) ?? {});
  return `${message}${text ?? ''}`;
}

/** The words of a command line that name an environment: ` --env staging`; empty for the default one. */
export function envWords(env: string = defaultEnv): string {
  return env === defaultEnv ? '' : ` --env ${env}`;
}

/** The words of a command line that name the flow that has a connection; empty for a saved one. */
function flowWords(flow: string | undefined): string {
  return flow === undefined ? '' : ` --flow ${shellWord(flow)}`;
}

function credentialAdvice({ credential, env, remedy, elsewhere = [], takesVariable }: ErrorDetails['credential']): string {
  const set = `automate credentials set ${shellWord(credential)}${envWords(env)}`;
  const lines = {
    store: [`store it: ${set}`],
    renew: [`set a new one: ${set}`],
    'other-hosts': [`set it again with other --hosts if that is meant: ${set}`],
    open: [],
    command: [`try it: automate credentials check ${shellWord(credential)}${envWords(env)}`],
  };
  const others = elsewhere.length === 0 ? [] : [`choose it with ${elsewhere.map((other) => `--env ${other}`).join(' or ')}`];
  const variable = takesVariable ? [`${remedy === undefined ? '' : 'or '}${variableText(credential)}`] : [];
  return [...(remedy === undefined ? [] : lines[remedy]), ...others, ...variable].map((line) => `\n${line}`).join('');
}

/** The option of a name in camel case: `--in-format` for `inFormat`. */
function optionName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `A`, `A, B`, or `A, B, and C`. */
function listed(texts: readonly string[]): string {
  return texts.length < 3 ? texts.join(', ') : `${texts.slice(0, -1).join(', ')}, and ${texts.at(-1)}`;
}

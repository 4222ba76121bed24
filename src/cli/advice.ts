import type { CodedMessage, ConnectionSetting, ErrorCode, ErrorDetails, InputHint } from '../core/error-code.ts';
import { detailsOf } from '../core/error-code.ts';
import { FlowError } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { lowerCaseName } from '../core/text/words.ts';
import { variableText } from '../credentials/environment.ts';

const startOver = '\nstart over with --force';

const inputHints: Readonly<Record<InputHint, string>> = {
  'other-encoding': 'if the file has a different encoding, give it: --encoding latin1',
  'not-this-encoding': "give the file's encoding: --encoding latin1",
  'utf-8': 'leave out --encoding',
  'utf-16': 'pass --encoding utf-16',
  gzip: 'rename the file to .csv.gz (.json.gz, ...), or pass --in-format csv.gz',
  ndjson: 'if each line is an object, pass --in-format ndjson',
  json: 'if the file is one JSON array, pass --in-format json',
  csv: 'if it is text, give its format: --in-format csv',
  xlsx: 'rename the file to .xlsx, or pass --in-format xlsx',
  'other-header': 'if the header is in another line, or there is none: --header-line 4, or --no-header',
  'other-input': 'give the records with --in FILE, or pipe them in',
  escape: "if \\ stands before quotes inside quotes in this file: --escape '\\'",
  trim: 'to leave out blanks around cells: --trim',
};

const settingChecks: Readonly<Record<ConnectionSetting, string>> = {
  authority: 'if the server is yours, give its certificate authority with --cacert FILE',
  auth: 'give the credential: --auth bearer --credential NAME, or log in: --auth oauth2_authorization_code',
  variables: 'pass variables on to the program with --pass-env NAME',
};

/** For each error code, the remedy that the command line prints after the error's message. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {
  'flow-for-tests': ({ flow, tests }) =>
    tests === undefined
      ? `\nmake its first test from a real answer: automate test-request ${shellWord(flow)} --save-test "a name"`
      : `\nits tests are in ${tests}: automate test ${shellWord(tests)}`,
  'variable-missing': ({ variable }) => `\ngive it a value: --var ${variable}=VALUE`,
  'input-unreadable': ({ hint, records }) => {
    if (records !== undefined) return `: add --records ${shellWord(records)}`;
    return hint === undefined ? '' : `\n${inputHints[hint]}`;
  },
  'input-changed': () => '\nrun this again once no other program writes to the file',
  'unknown-format': ({ of, formats }) =>
    of === 'in'
      ? `\nor give its format: --in-format ${formats.join(', ')}`
      : `\nor give the format to write: --out-format ${formats.join(', ')}`,
  'list-of-records': () => '\nif it is a list of records, pass --in-format json',
  'object-over-lines': () => '\nif all of the input is one object, pass --in-format json',
  'no-json-line': () => '\nif it is a table, pass --in-format csv',
  'title-above-header': () => `\n${inputHints['other-header']}`,
  'other-delimiter': ({ delimiter }) =>
    delimiter === '\t'
      ? '\nif tabs separate the cells: --delimiter tab'
      : `\nif "${delimiter}" separates the cells: --delimiter '${delimiter}'`,
  'output-exists': ({ of }) =>
    of === 'out'
      ? '\nchoose another file with --out, or overwrite it: --replace does so at the end of the run, --force at once'
      : '\nit might contain failed records of an earlier run: choose another file with --errors, or overwrite it with --replace or --force',
  'place-refused': ({ of, isRemovable }) => `\n${isRemovable ? 'remove it, or ' : ''}choose another file with --${of}`,
  'answers-damaged': ({ out }) => `\nto delete them, so that every request is sent again: automate answers clear ${shellWord(out)}`,
  'being-written': ({ of }) => `\nwait for it, or choose another file with --${of}`,
  'shared-stdout': ({ of }) => `\nchoose a file for one of them: ${of.map((role) => `--${role}`).join(' or ')}`,
  'unfinished-run': ({ out, isRetry }) => {
    const command = isRetry ? `automate retry ${shellWord(out)}` : 'the command line of that run and';
    return `\nresume it: ${command} --resume\nstart over: ${command} --force`;
  },
  'other-run': ({ isReplacing, isComplete }) =>
    isComplete
      ? '\nrun it again with --replace in addition to --resume: the old files stay until the new ones are complete'
      : `\nundo these changes, or start over with ${isReplacing ? '--replace, and without --resume' : '--force'}`,
  'nothing-to-resume': () => '\nto keep it until a new run is complete: --replace instead of --resume\nto delete it at once: --force',
  'journal-damaged': () => startOver,
  'output-changed': () => '\nrestore its content, or start over with --force',
  'port-taken': () => '\nchoose another port with --metrics; 0 is any free port',
  'update-refused': () => '\nto run every record once, and replace the old files at the end: --replace --update',
  'gone-unknown': () => '\nrun once without --gone, with a flow that keeps the columns of --gone-key',
  'too-many-gone': ({ allowed }) => (allowed === undefined ? '' : `\nif they are gone indeed, allow it: --max-gone ${allowed}`),
  'option-reached': ({ option, value }) => ` (${optionFlag(option)} ${value})`,
  'max-credits': ({ credits }) => ` (--max-credits ${credits})`,
  allowance: () => ' (to change it: automate credits limit N)',
  tls: ({ isUnknownAuthority }) => (isUnknownAuthority ? `\n${settingChecks.authority}` : ''),
  'no-files-folder': () => '\ngive the folder for files: --files DIR',
  'plain-http': () => '\nor pass --allow-http',
  'private-address': () => '\nto allow it, pass --allow-private',
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
    // A secret is never written to a file unencrypted, so only the two options in this message are left.
    return `\ndo one of these:\n  ${vault}, and run this again\n  or store nothing here, and ${variableText(credential)}, where the flow runs`;
  },
  'secret-stays': ({ credential, env }) =>
    `\nremove it from the list anyway: automate credentials remove ${credential}${envWords(env)} --force`,
  'connection-exists': () => '\nreplace it with --force',
  'connection-failed': ({ part, checks, setting }) => {
    const lines = [...(part === undefined ? [] : [`the problem is in the ${part}`]), `check ${listed(checks)}`];
    return `\n${[...lines, ...(setting === undefined ? [] : [settingChecks[setting]])].join('\n')}`;
  },
  'connection-missing': ({ connection, type }) =>
    `\nsave it: automate connections add ${type} ${connection} ${type === 'http' ? '--base-url URL' : '--url URL'}`,
  'nothing-to-change': () => '\ngive at least one of --credits, --rate, --expires and --flows',
  'key-missing': () => '\nlist them: automate keys list --all',
};

export function messageWithAdvice(coded: CodedMessage): string {
  if (coded instanceof FlowError) return coded.problems.map(messageWithAdvice).join('\n');
  const { message, code } = coded;
  const wrong = detailsOf(coded, 'invalid-option');
  if (wrong) return `${optionFlag(wrong.option)}: ${message}`;
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(coded, code) ?? {});
  return `${message}${text ?? ''}`;
}

/** Text such as ` --env staging`. It is empty for the default environment. */
export function envWords(env: string = defaultEnv): string {
  return env === defaultEnv ? '' : ` --env ${env}`;
}

/** The option for the flow in which a connection is written. It is empty for a saved connection. */
function flowWords(flow: string | undefined): string {
  return flow === undefined ? '' : ` --flow ${shellWord(flow)}`;
}

function credentialAdvice({ credential, env, remedy, elsewhere = [], takesVariable }: ErrorDetails['credential']): string {
  const set = `automate credentials set ${shellWord(credential)}${envWords(env)}`;
  const lines = {
    store: [`store it: ${set}`],
    renew: [`set a new one: ${set}`],
    'other-hosts': [`to allow that host, set the credential again with different --hosts: ${set}`],
    open: [],
    command: [`try it: automate credentials check ${shellWord(credential)}${envWords(env)}`],
  };
  const others = elsewhere.length === 0 ? [] : [`choose it with ${elsewhere.map((other) => `--env ${other}`).join(' or ')}`];
  const variable = takesVariable ? [`${remedy === undefined ? '' : 'or '}${variableText(credential)}`] : [];
  return [...(remedy === undefined ? [] : lines[remedy]), ...others, ...variable].map((line) => `\n${line}`).join('');
}

/** Joins texts as in a sentence: `A`, `A, B`, or `A, B, and C`. */
function listed(texts: readonly string[]): string {
  return texts.length < 3 ? texts.join(', ') : `${texts.slice(0, -1).join(', ')}, and ${texts.at(-1)}`;
}

export function optionFlag(name: string): string {
  return `--${lowerCaseName(name, '-')}`;
}

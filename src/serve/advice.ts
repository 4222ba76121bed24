import { type CodedMessage, detailsOf, type ErrorCode, type ErrorDetails, type InputHint } from '../core/error-code.ts';
import { FlowError } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { lowerCaseName } from '../core/text/words.ts';
import { variableText } from '../credentials/environment.ts';

const inputHints: Readonly<Record<InputHint, string>> = {
  'other-encoding': 'if the body has a different encoding, give it: charset=latin1 in Content-Type',
  'not-this-encoding': "give the body's encoding: charset=latin1 in Content-Type",
  'utf-8': 'send it with charset=utf-8 in Content-Type',
  'utf-16': 'send it with charset=utf-16 in Content-Type',
  gzip: 'send it with Content-Encoding: gzip',
  ndjson: 'if each line is an object, send it as application/x-ndjson',
  csv: 'if it is CSV, send it as text/csv',
  xlsx: 'send a workbook as application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'other-header': 'if the header is in another line, or there is none: header_line=4 or no_header=true in the query',
  'other-input': 'send the records in the body',
  escape: 'if \\ stands before quotes inside quotes in this body: escape=%5C in the query',
  trim: 'to leave out blanks around cells: trim=true in the query',
  json: 'if the body is one JSON array, send it as application/json',
};

/** Follows the error's message. Says which field, header or query the client must send, or what the operator can do. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {
  'variable-missing': ({ variable, isOpen }) =>
    isOpen
      ? `\ngive it a value in the query: var.${variable}=VALUE`
      : '\nwrite a value into the flow, or list the variable under open_vars',
  'input-unreadable': ({ hint, records }) => {
    if (records !== undefined) return `: add records=${encodeURIComponent(records)} to the query`;
    return hint === undefined ? '' : `\n${inputHints[hint]}`;
  },
  'list-of-records': () => '\nsend a list of records as application/json',
  'object-over-lines': () => '\nif all of the body is one object, send it as application/json',
  'no-json-line': () => '\nif it is a table, send it as text/csv',
  'title-above-header': () => `\n${inputHints['other-header']}`,
  'other-delimiter': ({ delimiter }) =>
    delimiter === '\t' ? '\nif tabs separate the cells: delimiter=tab' : `\nif "${delimiter}" separates the cells: delimiter=${delimiter}`,
  'option-reached': ({ option, value }) => ` (${fieldName(option)}=${value})`,
  'max-credits': ({ credits }) => ` (max_credits=${credits})`,
  tls: ({ isUnknownAuthority }) =>
    isUnknownAuthority ? '\nif that server is yours, start this one with its certificate authority: --cacert FILE' : '',
  'no-files-folder': () => '\nstart the server with a folder for files: --files DIR',
  'plain-http': () => '\nor start the server with --allow-http',
  credential: credentialAdvice,
  'login-needed': ({ connection, flow, env = defaultEnv }) => {
    const words = [...(flow === undefined ? [] : ['--flow', flow]), ...(env === defaultEnv ? [] : ['--env', env])];
    return `\non the server, log in: ${['automate', 'connections', 'login', connection, ...words].map(shellWord).join(' ')}`;
  },
  'no-place-for-secret': ({ credential }) =>
    `\nfor the encrypted vault, set AUTOMATE_VAULT_PASSPHRASE for the server\nor store nothing, and ${variableText(credential)}`,
  'connection-missing': () => '\nsave it on the page of connections, or with automate connections add',
};

export function messageForClient(coded: CodedMessage): string {
  if (coded instanceof FlowError) return coded.problems.map(messageForClient).join('\n');
  const { message, code } = coded;
  const wrong = detailsOf(coded, 'invalid-option');
  if (wrong) return `${fieldName(wrong.option)}: ${message}`;
  // The message of the cause says why the input or the output broke.
  if (code === 'input-broken' || code === 'output-broken') return messageForClient((coded as Error).cause as CodedMessage);
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(coded, code) ?? {});
  return `${message}${text ?? ''}`;
}

/** Contains commands that the operator can run on the server. */
function credentialAdvice({ credential, env = defaultEnv, remedy, takesVariable }: ErrorDetails['credential']): string {
  const command = `automate credentials set ${shellWord(credential)}${env === defaultEnv ? '' : ` --env ${env}`}`;
  const lines = [
    ...(remedy === 'other-hosts' ? [`to allow that host, set the credential again on the server with different --hosts: ${command}`] : []),
    ...(remedy === 'store' || remedy === 'renew' ? [`on the server: ${command}`] : []),
    ...(remedy === 'command' ? [`on the server, try it: ${command.replace(' set ', ' check ')}`] : []),
    ...(takesVariable ? [`${remedy === undefined ? '' : 'or '}${variableText(credential)}`] : []),
  ];
  return lines.map((line) => `\n${line}`).join('');
}

/** Options that clients set under a different name. Every other field has the name of the option, in snake case. */
const fields: Readonly<Record<string, string>> = { var: 'var.NAME', encoding: 'charset in Content-Type', inFormat: 'Content-Type' };

export function fieldName(option: string): string {
  return fields[option] ?? lowerCaseName(option, '_');
}

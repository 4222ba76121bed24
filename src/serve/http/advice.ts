import { type CodedMessage, detailsOf, type ErrorCode, type ErrorDetails, type InputHint } from '../../core/error-code.ts';
import { FlowError } from '../../core/failure.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { variableText } from '../../io/credentials/environment.ts';
import { defaultEnv } from '../../io/credentials/secret.ts';

const inputHints: Readonly<Record<InputHint, string>> = {
  'other-encoding': 'if the body has another encoding, name it: charset=latin1 in Content-Type',
  'not-this-encoding': "name the body's encoding: charset=latin1 in Content-Type",
  'utf-16le': 'send it with charset=utf-16le in Content-Type',
  'utf-16be': 'send it with charset=utf-16be in Content-Type',
  gzip: 'send it with Content-Encoding: gzip',
  ndjson: 'for one object per line send it as application/x-ndjson',
  csv: 'if it is CSV, send it as text/csv',
  xlsx: 'send a workbook as application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  json: 'if the body is one JSON array, send it as application/json',
};

/** The text after the message of each error: the field, header or query to send, or what the operator can do. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {
  'variable-missing': ({ variable, isOpen }) =>
    isOpen ? `\ngive it one in the query: var.${variable}=VALUE` : '\nwrite one into the flow, or list it under open_vars',
  'input-unreadable': ({ hint, records }) => {
    if (records !== undefined) return `: add records=${encodeURIComponent(records)} to the query`;
    return hint === undefined ? '' : `\n${inputHints[hint]}`;
  },
  'list-of-records': () => '\nsend a list of records as application/json',
  'object-over-lines': () => '\nif all of the body is one object, send it as application/json',
  'other-delimiter': ({ delimiter }) =>
    delimiter === '\t' ? '\nif tabs separate the cells: delimiter=tab' : `\nif "${delimiter}" separates the cells: delimiter=${delimiter}`,
  'max-errors': ({ limit }) => ` (max_errors=${limit})`,
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

/** A message with the field to send, or with what else gets out of the error. */
export function messageForClient(coded: CodedMessage): string {
  if (coded instanceof FlowError) return coded.problems.map(messageForClient).join('\n');
  const { message, code } = coded;
  const wrong = detailsOf(coded, 'invalid-option');
  if (wrong) return `${fieldName(wrong.option)}: ${message}`;
  // An input or output that broke off has its own reason.
  if (code === 'input-broken' || code === 'output-broken') return messageForClient((coded as Error).cause as CodedMessage);
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(coded, code) ?? {});
  return `${message}${text ?? ''}`;
}

/** The commands that the operator of the server types. */
function credentialAdvice({ credential, env = defaultEnv, remedy, takesVariable }: ErrorDetails['credential']): string {
  const command = `automate credentials set ${shellWord(credential)}${env === defaultEnv ? '' : ` --env ${env}`}`;
  const lines = [
    ...(remedy === 'other-hosts' ? [`on the server, set it again with other --hosts if that is meant: ${command}`] : []),
    ...(remedy === 'store' || remedy === 'renew' ? [`on the server: ${command}`] : []),
    ...(remedy === 'command' ? [`on the server, try it: ${command.replace(' set ', ' check ')}`] : []),
    ...(takesVariable ? [`${remedy === undefined ? '' : 'or '}${variableText(credential)}`] : []),
  ];
  return lines.map((line) => `\n${line}`).join('');
}

/** Options that a client sets in another way than by the query or field of their name. */
const fields: Readonly<Record<string, string>> = { var: 'var.NAME', encoding: 'charset in Content-Type', inFormat: 'Content-Type' };

function fieldName(option: string): string {
  return fields[option] ?? option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

import { isData } from './secrets/secrets.ts';

/**
 * `url` escapes for the part of the URL, and `json` for the position in JSON text. `value` keeps the type, `text` converts to a string, and
 * `setting` reads a number.
 */
export type VariablePlace = 'url' | 'json' | 'value' | 'text' | 'setting';

/** Define the node and what it does, as opposed to what it sends. They cannot contain variables. */
const structure = new Set([
  ...['type', 'id', 'connection', 'credential', 'on_error', 'provider', 'lookup', 'tool', 'file', 'source', 'nodes'],
  ...['map', 'when_empty', 'no_match', 'error_message', 'cost', 'credits', 'rename', 'remove', 'keep', 'carry', 'emit', 'max', 'every'],
  ...['found_by', 'required'],
  ...['method', 'retry', 'success', 'follow', 'response', 'answer', 'charset', 'paginate', 'cache', 'max_body', 'max_cost', 'price'],
  ...[
    'raw',
    'output',
    'schema',
    'answer_schema',
    'rules',
    'action',
    'on',
    'ignore',
    'many',
    'missing',
    'strict',
    'variables',
    'geographies',
    'prompt_cache',
    'client_cert',
    'http2',
  ],
]);

const settings = new Set(['rate', 'concurrency', 'timeout', 'start_timeout']);

const urls = new Set(['url', 'base_url', 'token_url', 'authorize_url']);

/** May contain variables, as they do not affect which secret is sent, or in which header or parameter. */
const authOptions = new Set([
  ...['client_id', 'username', 'scopes', 'params', 'headers', 'query', 'claims'],
  ...['issuer', 'subject', 'audience', 'key_id', 'service', 'region'],
]);

/** Identified by the names that lead to it from the top of the flow. */
export interface OptionPlace {
  readonly names: readonly string[];
  /** The text is the name of a member, not a value. It is then the last of `names`. */
  readonly isKey: boolean;
  readonly isAlone: boolean;
  readonly isInList: boolean;
}

/** Undefined if the option must not contain variables. */
export function placeOfVariable({ names, isKey, isAlone }: OptionPlace): VariablePlace | undefined {
  if (isKey) return names.slice(0, -1).some((name) => name === 'body' || name === 'form') ? 'text' : undefined;
  if (names[0] === 'connections') return placeInConnection(names.slice(2));
  const inNode = names.slice(optionIndex(names));
  if (names[0] !== 'nodes' || (isAlone && names.at(-1) === 'credential')) return undefined;
  return placeInNode(inNode);
}

/** Returns the index in `names` of the node's own option. */
function optionIndex(names: readonly string[]): number {
  const index = names.findIndex((name) => name !== 'nodes');
  return index < 0 ? names.length : index;
}

function placeInConnection([option = '', ...more]: readonly string[]): VariablePlace | undefined {
  if (option === 'auth') return placeInAuth(more);
  if (option === 'headers') return 'text';
  if (settings.has(option)) return 'setting';
  return urls.has(option) ? 'url' : undefined;
}

function placeInNode([option = '', ...more]: readonly string[]): VariablePlace | undefined {
  if (option === 'auth') return placeInAuth(more);
  if (option === 'batch') return more[0] === 'items' ? 'value' : undefined;
  if (structure.has(option)) return undefined;
  if (settings.has(option)) return 'setting';
  if (urls.has(option)) return 'url';
  if (!isData([option])) return 'text';
  if (more.length > 0) return option === 'form' ? 'text' : 'value';
  return option === 'body' || option === 'arguments' ? 'json' : 'value';
}

function placeInAuth([option = '', ...more]: readonly string[]): VariablePlace | undefined {
  if (option === 'login') return placeInLogin(more);
  if (option === 'send') return ['headers', 'query'].includes(more[0] ?? '') && more.length === 2 ? 'text' : undefined;
  if (urls.has(option)) return 'url';
  return authOptions.has(option) ? 'text' : undefined;
}

/** The requests of a login are like those of a node. */
function placeInLogin([option = '', ...more]: readonly string[]): VariablePlace | undefined {
  if (option === 'auth') return placeInAuth(more);
  if (['session', 'credential', 'take', 'expect', 'method'].includes(more.at(-1) ?? option) || option === 'take') return undefined;
  if (option === 'body') return more.length > 0 ? 'value' : 'json';
  return option === 'url' ? 'url' : ['headers', 'form', 'text'].includes(option) ? 'text' : undefined;
}

/** True if the option decides which host receives a credential or is part of the authentication, wherever in it the variable is. */
export function decidesHost({ names }: OptionPlace): boolean {
  return names.includes('auth') || names.at(-1) === 'base_url';
}

const conditions = new Set(['when', 'where', 'while', 'until', 'fail_when', 'retry_when']);

export function isExpressionPlace({ names, isKey, isAlone, isInList }: OptionPlace): boolean {
  const around = names.slice(0, -1);
  const last = names.at(-1) ?? '';
  if (isKey || names[0] !== 'nodes') return false;
  if (conditions.has(last)) return around.every((name) => name === 'nodes' || name === 'paginate');
  const option = optionIndex(around);
  const isInside = around.length > option + 1 || isInList;
  // Only deeper inside `body`, `form` or `fields` does `cel` mark an expression. In `fields: { cel: ... }`, it is the name of a field, and in
  // `body: { cel: ... }`, the name of a member.
  return last === 'cel' && isAlone && isInside && ['body', 'form', 'fields'].includes(around[option] ?? '');
}

import { isData } from '../secrets/secrets.ts';

/**
 * The way in which a variable is written into an option: `url` escapes by its part of the URL, `json` by its place in JSON text, `value` keeps
 * the type, `text` does not, `setting` reads a number.
 */
export type VariablePlace = 'url' | 'json' | 'value' | 'text' | 'setting';

/** Options of nodes that say what a node is and does, not what it sends. */
const structure = new Set([
  ...['type', 'id', 'connection', 'credential', 'on_error', 'provider', 'lookup', 'tool', 'file', 'source', 'nodes'],
  ...['map', 'when_empty', 'no_match', 'error_message', 'cost', 'credits', 'rename', 'remove', 'keep', 'carry', 'emit', 'max', 'every'],
  ...['method', 'retry', 'success', 'follow', 'response', 'answer', 'paginate', 'cache', 'max_body', 'max_cost', 'price'],
  ...['output', 'schema', 'strict', 'variables', 'geographies', 'prompt_cache', 'client_cert'],
]);

const settings = new Set(['rate', 'concurrency', 'timeout', 'start_timeout']);

const urls = new Set(['url', 'base_url', 'token_url', 'authorize_url']);

/** Options under `auth` that name no secret and no place for one. */
const authOptions = new Set(['client_id', 'username', 'scopes', 'params']);

/** An option by the names that lead to it, from the top. */
export interface OptionPlace {
  readonly names: readonly string[];
  /** True for a name in a mapping of data, which is the last of `names`. */
  readonly isKey: boolean;
  /** True if it is the only one in its mapping. */
  readonly isAlone: boolean;
  /** True if its mapping is an element of a list. */
  readonly isInList: boolean;
}

/** The place that an option is for variables; undefined if none can stand there. */
export function placeOfVariable({ names, isKey, isAlone }: OptionPlace): VariablePlace | undefined {
  if (isKey) return names.slice(0, -1).some((name) => name === 'body' || name === 'form') ? 'text' : undefined;
  if (names[0] === 'connections') return placeInConnection(names.slice(2));
  const inNode = names.slice(optionIndex(names));
  if (names[0] !== 'nodes' || (isAlone && names.at(-1) === 'credential')) return undefined;
  return placeInNode(inNode);
}

/** The index of the name of a node's option. */
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

function placeInAuth([option = '']: readonly string[]): VariablePlace | undefined {
  if (urls.has(option)) return 'url';
  return authOptions.has(option) ? 'text' : undefined;
}

/** True for an option that decides which host gets a credential, or is part of what proves it, whatever part of it a variable fills. */
export function decidesHost({ names }: OptionPlace): boolean {
  return names.includes('auth') || names.at(-1) === 'base_url';
}

const conditions = new Set(['when', 'where', 'while', 'until', 'fail_when', 'retry_when']);

/** True for an option that is an expression. */
export function isExpressionPlace({ names, isKey, isAlone, isInList }: OptionPlace): boolean {
  const around = names.slice(0, -1);
  const last = names.at(-1) ?? '';
  if (isKey || names[0] !== 'nodes') return false;
  if (conditions.has(last)) return around.every((name) => name === 'nodes' || name === 'paginate');
  const option = optionIndex(around);
  const isInside = around.length > option + 1 || isInList;
  // `fields: { cel: ... }` sets a field of that name, and `body: { cel: ... }` has a member of that name.
  return last === 'cel' && isAlone && isInside && ['body', 'fields'].includes(around[option] ?? '');
}

import { freeName } from '../core/text/suggest.ts';
import { parseJson } from '../core/value/json.ts';
import { isObject, type JsonObject, jsonOf, orUndefined, type Value } from '../core/value/value.ts';
import type { NameRule } from '../flow/secrets/secret-text.ts';

/** Moves literal secrets of a GraphQL query into its variables, because a credential can only be a whole value. `body` is JSON text. */
export function withVariables(body: string, isSecret: NameRule): string {
  const parsed = orUndefined(() => parseJson(body));
  if (parsed === undefined) return body;
  const requests = Array.isArray(parsed) ? parsed : [parsed];
  const moved = requests.map((request) => movedIn(request, isSecret));
  if (moved.every((request, index) => request === requests[index])) return body;
  return jsonOf(Array.isArray(parsed) ? moved : (moved[0] as Value));
}

const argument = /([_A-Za-z]\w*)(\s*:\s*)("""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|-?\d+(?![\w.]))/g;
/** The beginning of an operation: its name and the parenthesis before its variables, or the brace of a query without a name. */
const operation = /^(?:\s|#[^\n]*\n)*(?:(?:query|mutation|subscription)\b(?:\s*[_A-Za-z]\w*)?\s*(\()?|(?=\{))/;
const laterOperation = /\}\s*(?:(?:query|mutation|subscription)\b|\{)/;

function movedIn(request: Value, isSecret: NameRule): Value {
  if (!isObject(request) || typeof request.query !== 'string') return request;
  const { query, variables = {} } = request;
  const [start, parenthesis] = operation.exec(query) ?? [];
  const own = variables ?? {};
  // A variable that an operation does not use is an error, so only a single operation can get more variables.
  if (start === undefined || !isObject(own) || laterOperation.test(query.replace(argument, '$1'))) return request;
  const values: JsonObject = {};
  const types: string[] = [];
  const text = query.replace(argument, (found: string, name: string, colon: string, literal: string) => {
    const value = literalOf(literal);
    if (value === undefined || !isSecret(name, 'body', String(value), true)) return found;
    const variable = freeName(name, (one) => one in own || one in values || query.includes(`$${one}`));
    values[variable] = value;
    types.push(`$${variable}: ${typeof value === 'string' ? 'String' : 'Int'}!`);
    return `${name}${colon}$${variable}`;
  });
  if (types.length === 0) return request;
  const rest = text.slice(start.length);
  const head = start.trimEnd() === '' || start.trimEnd().endsWith('\n') ? `${start}query` : start.trimEnd();
  const declared = parenthesis ? `${start}${types.join(', ')}, ` : `${head}(${types.join(', ')}) `;
  return { ...request, query: declared + rest, variables: { ...own, ...values } };
}

/** Undefined if the literal is not complete. */
function literalOf(literal: string): string | number | undefined {
  if (literal.startsWith('"""')) return literal.slice(3, -3);
  return orUndefined(() => JSON.parse(literal) as string | number);
}

import { membersOf } from '../../core/value/dictionary.ts';
import { isObject, type JsonObject } from '../../core/value/value.ts';

/** Members that no flow may add: the node reads whole answers, and has options for their length. */
const ownMembers = new Set(['stream', 'max_tokens', 'max_completion_tokens']);

/** A request body with the members that the flow adds. An object in both has the members of both. */
export function withExtra(body: JsonObject, extra: JsonObject): JsonObject {
  const added = membersOf(extra).map(([name, value]) => {
    const own = body[name];
    return [name, isObject(own) && isObject(value) ? withExtra(own, value) : value] as const;
  });
  return Object.fromEntries([...Object.entries(body), ...added]);
}

/** The places in `extra` that are members of the body already. */
export function clashesOf(body: JsonObject, extra: JsonObject, at: readonly string[] = []): (readonly string[])[] {
  return membersOf(extra).flatMap(([name, value]) => {
    const place = [...at, name];
    if (at.length === 0 && ownMembers.has(name)) return [place];
    if (!Object.hasOwn(body, name)) return [];
    const own = body[name];
    return isObject(own) && isObject(value) ? clashesOf(own, value, place) : [place];
  });
}

import { membersOf } from '../../core/value/dictionary.ts';
import { isObject, type JsonObject } from '../../core/value/value.ts';

/** Members that a flow must not set in `extra`. The node cannot read streams, and has a separate option for the length of answers. */
const ownMembers = new Set(['stream', 'max_tokens', 'max_completion_tokens']);

/**
 * Adds the members from the flow's option `extra` to a request body. If both contain an object of the same name, the objects are merged.
 */
export function withExtra(body: JsonObject, extra: JsonObject): JsonObject {
  const added = membersOf(extra).map(([name, value]) => {
    const own = body[name];
    return [name, isObject(own) && isObject(value) ? withExtra(own, value) : value] as const;
  });
  return Object.fromEntries([...Object.entries(body), ...added]);
}

/** Returns the paths of the members in `extra` that the node itself sets. */
export function clashesOf(body: JsonObject, extra: JsonObject, at: readonly string[] = []): (readonly string[])[] {
  return membersOf(extra).flatMap(([name, value]) => {
    const place = [...at, name];
    if (at.length === 0 && ownMembers.has(name)) return [place];
    if (!Object.hasOwn(body, name)) return [];
    const own = body[name];
    return isObject(own) && isObject(value) ? clashesOf(own, value, place) : [place];
  });
}

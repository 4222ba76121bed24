/** The results are limited, because patterns can come from fields, and every record can then have a different one. */
const maxKnown = 1000;

/** Computes the result of a key only once, as long as there are few keys. */
export function remembered<Key, Result>(compute: (key: Key) => Result): (key: Key) => Result {
  const known = new Map<Key, Result>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const result = compute(key);
    if (known.size === maxKnown) known.clear();
    known.set(key, result);
    return result;
  };
}

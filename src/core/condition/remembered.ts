/** If patterns come from fields, every record can have a different one. */
const maxKnown = 1000;

/** Computes each result once. */
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

/** Caches the result of `make` for the same arguments, for tests that compare with the same result. */
export function remembered<Args extends unknown[], Result>(make: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result> {
  const known = new Map<string, Promise<Result>>();
  return (...args) => {
    const key = JSON.stringify(args);
    const result = known.get(key) ?? make(...args);
    known.set(key, result);
    return result;
  };
}

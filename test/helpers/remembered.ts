/** The same, worked out once for the same arguments: several tests compare with it. */
export function remembered<Args extends unknown[], Result>(make: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result> {
  const known = new Map<string, Promise<Result>>();
  return (...args) => {
    const key = JSON.stringify(args);
    const result = known.get(key) ?? make(...args);
    known.set(key, result);
    return result;
  };
}

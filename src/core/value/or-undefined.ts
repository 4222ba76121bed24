/** Returns the result of `act`, or undefined if it throws. */
export function orUndefined<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

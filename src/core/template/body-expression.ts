import { isObject, type Value } from '../value/value.ts';

/** An expression that stands for a value in a body, such as `{ cel: "int(age)" }`. */
export interface BodyExpression {
  /** The object that contains the expression, as written. */
  readonly holder: Value;
  readonly source: string;
  readonly at: readonly (string | number)[];
}

/**
 * Returns the expressions among the values in a body. If the body itself is an object with the member `cel`, that is an ordinary member.
 */
export function expressionsWithin(body: Value | undefined, at: readonly (string | number)[]): BodyExpression[] {
  const values: [string | number, Value][] = Array.isArray(body) ? [...body.entries()] : isObject(body) ? Object.entries(body) : [];
  return values.flatMap(([key, value]) => {
    const isOne = isObject(value) && typeof value.cel === 'string' && Object.keys(value).length === 1;
    return isOne ? [{ holder: value, source: value.cel as string, at: [...at, key, 'cel'] }] : expressionsWithin(value, [...at, key]);
  });
}

import { isObject, type Value } from '../value/value.ts';

/** An expression that stands for a value of a body: `{ cel: "int(age)" }`. */
export interface BodyExpression {
  /** The object that holds it, as it is written. */
  readonly holder: Value;
  readonly source: string;
  readonly at: readonly (string | number)[];
}

/** The expressions among the values of a body. The body itself is none: there `cel` is an ordinary name. */
export function expressionsWithin(body: Value | undefined, at: readonly (string | number)[]): BodyExpression[] {
  const values: [string | number, Value][] = Array.isArray(body) ? [...body.entries()] : isObject(body) ? Object.entries(body) : [];
  return values.flatMap(([key, value]) => {
    const isOne = isObject(value) && typeof value.cel === 'string' && Object.keys(value).length === 1;
    return isOne ? [{ holder: value, source: value.cel as string, at: [...at, key, 'cel'] }] : expressionsWithin(value, [...at, key]);
  });
}

import { isObject, type Value } from '../value/value.ts';

/** Finds the secret of a credential. */
export type SecretOf = (credential: string) => string;

/** A credential whose secret stands in a body, and the place of its name. */
export interface BodyCredential {
  readonly name: string;
  readonly at: readonly (string | number)[];
}

/** The name in `{ credential: NAME }`. Undefined for any other value. */
export function credentialIn(value: Value | undefined): string | undefined {
  if (!isObject(value) || typeof value.credential !== 'string') return undefined;
  return Object.keys(value).length === 1 ? value.credential : undefined;
}

/** The credentials among the values of a body. The body itself is none: there `credential` is an ordinary name. */
export function credentialsWithin(body: Value | undefined, at: readonly (string | number)[]): BodyCredential[] {
  const values: [string | number, Value][] = Array.isArray(body) ? [...body.entries()] : isObject(body) ? Object.entries(body) : [];
  return values.flatMap(([key, value]) => {
    const name = credentialIn(value);
    return name === undefined ? credentialsWithin(value, [...at, key]) : [{ name, at: [...at, key, 'credential'] }];
  });
}

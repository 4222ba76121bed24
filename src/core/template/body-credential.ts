import { isObject, type Value } from '../value/value.ts';

/** Returns the secret of a credential. */
export type SecretOf = (credential: string) => string;

/** A credential whose secret is inserted into a body, and the path of the option that contains the credential's name. */
export interface BodyCredential {
  readonly name: string;
  readonly at: readonly (string | number)[];
}

/** Returns the credential's name if the value is `{ credential: NAME }`; undefined for any other value. */
export function credentialIn(value: Value | undefined): string | undefined {
  if (!isObject(value) || typeof value.credential !== 'string') return undefined;
  return Object.keys(value).length === 1 ? value.credential : undefined;
}

/**
 * Returns the credentials among the values in a body. If the body itself is an object with the member `credential`, that is an ordinary
 * member.
 */
export function credentialsWithin(body: Value | undefined, at: readonly (string | number)[]): BodyCredential[] {
  const values: [string | number, Value][] = Array.isArray(body) ? [...body.entries()] : isObject(body) ? Object.entries(body) : [];
  return values.flatMap(([key, value]) => {
    const name = credentialIn(value);
    return name === undefined ? credentialsWithin(value, [...at, key]) : [{ name, at: [...at, key, 'credential'] }];
  });
}

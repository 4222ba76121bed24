import { kindOf } from '../../core/answer/mapping.ts';
import { compilePath } from '../../core/answer/path.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { parseJson } from '../../core/value/json.ts';
import { isObject, jsonOf, orUndefined, type Value } from '../../core/value/value.ts';

type Step = string | number;

/**
 * Returns a function that sets a parameter in a JSON body, such as `variables.after`. Throws an Error with the reason if the path of the
 * parameter is invalid.
 */
export function bodyParameter(text: string): (request: HttpRequest, value: Value) => HttpRequest {
  const { root, legs } = compilePath(text);
  const [steps = []] = legs;
  if (root !== 'body' || legs.length > 1 || steps.length === 0) {
    throw new Error(`expected the path of one value in the body, such as variables.after, found "${text}"`);
  }
  return (request, value) => {
    const set = (body: string) => jsonOf(withValue(jsonIn(body), steps, value, text));
    const { body, secretBody: secret } = request;
    const secretBody: HttpRequest['secretBody'] = secret && { ...secret, render: (secretOf) => set(secret.render(secretOf) as string) };
    return { ...request, body: set(body ?? ''), secretBody };
  };
}

function jsonIn(body: string): Value {
  const value = orUndefined(() => parseJson(body));
  if (value !== undefined) return value;
  throw new Failure('request', 'the cursor goes into the body (paginate.in), but the body is not JSON', { sent: false });
}

/** Returns a copy of a value in which the value at the end of the steps is replaced. Missing objects along the steps are created. */
function withValue(into: Value | undefined, [step, ...more]: readonly Step[], value: Value, text: string): Value {
  if (step === undefined) return value;
  if (typeof step === 'number' && Array.isArray(into) && step < into.length)
    return into.with(step, withValue(into[step], more, value, text));
  if (typeof step === 'string' && (isObject(into) || into === undefined || into === null)) {
    const member = into && Object.hasOwn(into, step) ? into[step] : undefined;
    return { ...into, [step]: withValue(member, more, value, text) };
  }
  const found = into === undefined ? 'nothing' : kindOf(into);
  throw new Failure('request', `cannot set "${text}" in the body (paginate.param): found ${found} on that path`, { sent: false });
}

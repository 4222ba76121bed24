import { Failure, type FailureClass } from './failure.ts';
import type { Fields } from './record.ts';
import { parseJson } from './value/json.ts';
import { jsonOf, type Value } from './value/value.ts';

/** A failure as JSON, for a pipe or a file. */
export interface FailureForm {
  readonly kind: FailureClass;
  readonly message: string;
  readonly node?: string;
  readonly status?: number;
  readonly attempts: number;
  readonly sent: boolean;
  readonly code?: string;
  readonly details?: object;
  /** The fields that contain a secret, with the masked value as JSON. */
  readonly masked?: readonly (readonly [name: string, json: string])[];
}

interface Masker {
  text(text: string): string;
  value(value: Value): Value;
}

/** Masks all secrets. `fields` are the record's fields. */
export function failureForm(failure: Failure, fields: Fields, redactor: Masker): FailureForm {
  const { kind, node, status, attempts, sent, code, details } = failure;
  const masked = [...fields].flatMap(([name, value]) => {
    const [json, maskedJson] = [jsonOf(value), jsonOf(redactor.value(value))];
    return json === maskedJson ? [] : [[name, maskedJson] as const];
  });
  return {
    ...{ kind, message: redactor.text(failure.message), node, status, attempts, sent, code },
    details: details && (redactor.value(details as Value) as object),
    ...(masked.length > 0 && { masked }),
  };
}

export function failureOf({ kind, message, node, attempts, masked, ...facts }: FailureForm): Failure {
  const failure = new Failure(kind, message, facts as ConstructorParameters<typeof Failure>[2]);
  failure.node = node;
  failure.attempts = attempts;
  if (masked) failure.masked = new Map(masked.map(([name, json]) => [name, parseJson(json)]));
  return failure;
}

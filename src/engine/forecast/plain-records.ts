import { Failure } from '../../core/failure.ts';
import type { Action, ActionRequest } from '../../core/node.ts';
import type { Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';

/** Records of which is known without rendering them that their first request can be sent, and where it goes. */
export interface PlainRecords {
  /** What the first request is made of. */
  readonly fields: readonly string[];
  /** Such a request: all of them go to its origin with its credential. */
  readonly request: ActionRequest;
  /** Whether a record is one of them. */
  has(fields: Fields): boolean;
}

/**
 * The plain records of a plan; absent when every record has to be looked at: the first node has a condition or does not act,
 * records decide where the request goes or who shares it, or its body asks for more than plain values.
 */
export function plainRecords({ steps: [first] }: Plan): PlainRecords | undefined {
  if (!first?.node.action || first.when || first.node.action.sharing) return undefined;
  const fields = [...new Set(first.node.reads.map(({ field }) => field))];
  const requests = samples.map((sample) => rendered(first.node.action as Action, new Map(fields.map((field) => [field, sample]))));
  const [request] = requests;
  if (!request || requests.some((other) => other?.origin !== request.origin || other.hostFromData !== undefined)) return undefined;
  return { fields, request, has: (record) => fields.every((field) => isPlain(record.get(field))) };
}

/** Where a template takes all of these, it takes every plain value. */
const samples: readonly Value[] = ['x', 'https://example.com/x', 7, true];

/**
 * Whether no place in a request can refuse a value once that place takes others: a URL refuses a path segment of dots,
 * a header control characters, and both a broken character.
 */
export function isPlain(value: Value | undefined): boolean {
  if (typeof value === 'string') return /[^.]/.test(value) && !/[\p{Cc}\p{Cs}]/u.test(value);
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

function rendered(action: Action, fields: Fields): ActionRequest | undefined {
  try {
    return action.request(fields);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

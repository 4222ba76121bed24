import * as z from 'zod';
import { endings } from '../../core/event.ts';
import { failureClasses } from '../../core/failure.ts';
import type { ToWorker, WorkerQuestion } from '../processes/wire-form.ts';
import type { HeldCredits, HeldMoney, Results } from '../run-link.ts';

export type QueueMessage = QueueSender & QueueNews;

interface QueueSender {
  readonly worker: string;
  /** A new generation begins whenever all units are put into the queue again. */
  readonly gen: string;
  /** A random text of the worker's own. The coordinator's messages to the worker repeat it, so that recorded messages are worthless. */
  readonly nonce: string;
  /** A number that a worker increases with each message. The coordinator uses it to recognize repeated messages. */
  readonly seq: number;
}

export type QueueNews =
  /** The worker wants to process units of the run, and waits for a sign that the coordinator is alive. */
  | { readonly kind: 'join' }
  /** The results of records. `numbers` contains the input numbers of these records, in the order of the results. */
  | ({ readonly kind: 'results'; readonly numbers: readonly number[] } & Results)
  | { readonly kind: 'question'; readonly id: number; readonly question: QueueQuestion }
  /** The worker has handed a unit back to the queue, or did not begin it although it was allowed to. */
  | { readonly kind: 'back'; readonly unit: number }
  /** The worker leaves the remaining records of a unit unfinished, because the run is closing. */
  | { readonly kind: 'left'; readonly unit: number }
  /** The worker could not read the content of a unit from Redis. */
  | { readonly kind: 'missing'; readonly unit: number }
  /** An unexpected error has ended the worker's part of the run. The credits and money that it still holds might be spent. */
  | { readonly kind: 'broken' }
  /** The worker has handed back all units and credits of the run. */
  | { readonly kind: 'ended' };

/** A question to the coordinator. Before a worker begins a unit, it asks which records it may process. */
export type QueueQuestion = WorkerQuestion | { readonly kind: 'begin'; readonly unit: number };

/**
 * The answer to the question for a unit: the positions of the records that have no result yet. It is empty if the unit is finished, and
 * `held` if another worker has the unit.
 */
export type Consent = readonly number[] | 'held';

export type RunNews =
  | Exclude<ToWorker, { kind: 'run' | 'pause' }>
  /** The coordinator is alive. Every state of the run with a lower `beat` is older than this message. */
  | { readonly kind: 'welcome'; readonly beat: number };

export type QueueAnswer = { readonly run: string; readonly gen: string; readonly nonce: string } & RunNews;

const whole = z.int().nonnegative();

const coded = { message: z.string(), code: z.string().exactOptional(), details: z.looseObject({}).exactOptional() };

export const closingShape = {
  phase: z.enum(['open', 'finishing', 'unpaid', 'stopped']),
  reason: z
    .object({
      ...coded,
      ending: z.enum(endings),
      patienceMs: z.number().exactOptional(),
      before: z.number().exactOptional(),
      step: z.object({ node: z.string(), class: z.enum(failureClasses), status: z.number().or(z.undefined()) }).exactOptional(),
    })
    .optional(),
};

const failure = z.object({
  kind: z.enum(failureClasses),
  message: z.string(),
  node: z.string().optional(),
  status: z.number().optional(),
  attempts: whole,
  sent: z.boolean(),
  code: z.string().optional(),
  details: z.looseObject({}).optional(),
  masked: z.array(z.tuple([z.string(), z.string()])).optional(),
});

const result = z.union([
  z.tuple([whole, whole, whole, z.string(), whole.optional()]),
  z.tuple([whole, whole, z.object({ at: whole, text: z.string() })]),
  z.tuple([whole, whole, failure]),
]);

const attempt = z.looseObject({
  record: whole,
  node: z.string(),
  request: z.looseObject({}),
  ms: z.number(),
  result: z.union([z.number(), z.enum(['ok', 'error']), z.looseObject({ kind: z.enum(failureClasses), message: z.string() })]),
});

const report = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('settle-credits'), node: z.string(), cost: z.number().optional() }),
  z.object({ kind: z.literal('release-credits'), node: z.string(), calls: whole }),
  z.object({
    kind: z.literal('settle-money'),
    node: z.string(),
    held: z.number().optional(),
    cost: z.union([z.number(), z.literal('unstated')]),
  }),
  z.object({ kind: z.literal('release-money'), node: z.string(), held: z.number() }),
  z.object({ kind: z.literal('event'), event: z.looseObject({ type: z.string() }) }),
  z.object({ kind: z.literal('attempt'), attempt }),
  z.object({ kind: z.literal('warning'), message: z.string() }),
  z.object({ kind: z.literal('closing'), ...closingShape }),
  z.object({ kind: z.literal('error'), error: z.object({ ...coded, kind: z.string().optional() }) }),
]);

const question = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hold-credits'), node: z.string(), calls: whole }),
  z.object({ kind: z.literal('hold-money'), node: z.string(), max: z.number(), most: z.number() }),
  z.object({ kind: z.literal('save'), act: z.enum(['claim', 'release', 'note', 'takeBack']), path: z.string(), owner: z.string() }),
  z.object({ kind: z.literal('begin'), unit: whole }),
]);

const sender = { worker: z.string(), gen: z.string(), nonce: z.string(), seq: whole };

const message = z.discriminatedUnion('kind', [
  z.object({ ...sender, kind: z.literal('join') }),
  z.object({ ...sender, kind: z.literal('results'), numbers: z.array(whole), reports: z.array(report), results: z.array(result) }),
  z.object({ ...sender, kind: z.literal('question'), id: whole, question }),
  z.object({ ...sender, kind: z.enum(['left', 'missing', 'back']), unit: whole }),
  z.object({ ...sender, kind: z.enum(['broken', 'ended']) }),
]);

const receiver = { run: z.string(), gen: z.string(), nonce: z.string() };

const answer = z.discriminatedUnion('kind', [
  z.object({ ...receiver, kind: z.literal('welcome'), beat: whole }),
  z.object({ ...receiver, kind: z.literal('answer'), id: whole, value: z.unknown().optional() }),
  z.object({ ...receiver, kind: z.literal('closing'), ...closingShape }),
  z.object({ ...receiver, kind: z.literal('end') }),
]);

const heldCredits = z.object({
  calls: whole,
  refusal: z.object(coded).optional(),
  // Infinity, which means no limit, is null in JSON.
  left: z
    .number()
    .nullish()
    .transform((left) => left ?? undefined),
});

const heldMoney = z.object({ held: z.union([z.number(), z.enum(['used-up', 'unstated'])]), total: z.number() });

const consent = z.union([z.array(whole), z.literal('held')]);

/** Undefined if the value does not have the expected form. */
export function readAs<Shape extends z.ZodType>(shape: Shape, value: unknown): z.output<Shape> | undefined {
  return shape.safeParse(value).data;
}

/** Undefined if the text is not JSON, or does not have the expected form. */
export function readJsonAs<Shape extends z.ZodType>(shape: Shape, text: string): z.output<Shape> | undefined {
  try {
    return readAs(shape, JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function readMessage(value: unknown): QueueMessage | undefined {
  return readAs(message, value) as QueueMessage | undefined;
}

export function readAnswer(value: unknown): QueueAnswer | undefined {
  return readAs(answer, value) as QueueAnswer | undefined;
}

/** Checks the answer to a question. Returns undefined if it does not have the expected form. */
export function readReply({ kind }: QueueQuestion, value: unknown): unknown {
  if (kind === 'save') return value;
  if (kind === 'begin') return readAs(consent, value);
  return readAs<z.ZodType<unknown>>(kind === 'hold-credits' ? heldCredits : heldMoney, value) as HeldCredits | HeldMoney | undefined;
}

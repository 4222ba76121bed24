import type { StartedAttempt } from '../../core/answer/facts.ts';
import type { AttemptContext, KeptCall } from '../../core/call.ts';
import { Failure, LimitReached } from '../../core/failure.ts';
import type { CallPolicy } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { rounded, type SpendingRefusal } from '../../core/spending.ts';
import type { JsonObject } from '../../core/value/value.ts';
import { type Accepted, RequestCall } from '../calling.ts';
import type { TokenUsage, Turn } from './provider.ts';

/** The failure for an answer with status 200 that cannot be used. The tokens of such an answer still count towards the cost. */
export class UnusableAnswer extends Failure {
  /** `text` is shown when asking again. `usage` is undefined if no model has answered, and `reason` if asking again would not help. */
  constructor(
    message: string,
    readonly text: string,
    readonly usage: TokenUsage | undefined,
    readonly reason?: string,
  ) {
    super('answer', message, { status: 200 });
  }
}

export interface ModelAccepted extends Accepted {
  readonly usage: TokenUsage;
}

/** Per million tokens. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** The rules for a conversation with a model, which are the same for all records. */
interface ConversationRules {
  readonly node: string;
  /** The prices of tokens; undefined if the flow states none. */
  readonly price: TokenPrice | undefined;
  /** The option `max_cost`; undefined if the flow sets no maximum. */
  readonly maxCost: number | undefined;
  readonly maxTokens: number;
  /** Maximum number of times that the model is asked again because its answer does not fit the schema. */
  readonly invalidRetries: number;
}

/** The question of a call. If the model's answer does not fit the schema, the answer and a correction are added to the question. */
export interface Dialog {
  readonly turns: readonly Turn[];
  request(turns: readonly Turn[]): HttpRequest;
  bytes(turns: readonly Turn[]): number;
}

/** A call to a language model. It counts as one action, even if the model is asked again because its answer does not fit the schema. */
export class Conversation extends RequestCall {
  readonly #rules: ConversationRules;
  readonly #dialog: Dialog;
  #turns: readonly Turn[];
  #usage: TokenUsage = { input: 0, output: 0, cached: 0 };
  #invalid = 0;

  constructor(rules: ConversationRules, dialog: Dialog, policy: CallPolicy, record: Fields) {
    super(policy, dialog.request(dialog.turns), record);
    this.#rules = rules;
    this.#dialog = dialog;
    this.#turns = dialog.turns;
  }

  override get kept(): KeptCall<Accepted> | undefined {
    const kept = super.kept;
    if (!kept) return undefined;
    /** The tokens are those of all questions, also of those whose answers did not fit. */
    const restore: KeptCall<Accepted>['restore'] = async (answer, context) => {
      const restored = (await kept.restore(answer, context)) as ModelAccepted;
      return withUsage(restored, (answer.extra as TokenUsage | undefined) ?? restored.usage, this.#rules.price);
    };
    return { ...kept, extra: (answer) => ({ ...(answer as ModelAccepted).usage }), restore };
  }

  override async attempt(context: AttemptContext, started: StartedAttempt): Promise<Accepted> {
    for (;;) {
      try {
        const answer = (await this.#paid(context, started)) as ModelAccepted;
        return withUsage(answer, this.#usage, this.#rules.price);
      } catch (error) {
        if (!(error instanceof UnusableAnswer) || error.reason === undefined || this.#invalid === this.#rules.invalidRetries) throw error;
        this.#invalid++;
        context.report({ type: 'asked-again' });
        this.#turns = corrected(this.#turns, error.text, correction(error.reason));
        this.request = this.#dialog.request(this.#turns);
      }
    }
  }

  /** Makes one request, but only if its maximum cost is within `max_cost`. */
  async #paid(context: AttemptContext, started: StartedAttempt): Promise<Accepted> {
    const { maxCost, price } = this.#rules;
    const { spending } = context;
    if (maxCost === undefined || !price) return this.#answered(context, started, (cost) => cost && spending.settle(undefined, cost));
    const bytes = this.#dialog.bytes(this.#turns);
    const most = () => mostOf(price, spending.prompts.of(bytes), this.#rules.maxTokens);
    const held = await spending.hold(maxCost, most);
    if (typeof held !== 'number') {
      const facts = held === 'used-up' ? ({ code: 'max-cost', details: { node: this.#rules.node } } as const) : undefined;
      throw new LimitReached(refusalText(held, this.#rules, spending.total, most()), 'max-credits', facts, 'finishing');
    }
    return this.#answered(context, started, (cost, usage) => {
      if (!usage || cost === undefined) return spending.release(held);
      if (usage.input > 0) spending.prompts.learn(bytes, usage.input);
      spending.settle(held, usage.input + usage.output === 0 ? 'unstated' : cost);
    });
  }

  /** Makes one request, and then calls `settle` with its cost and tokens. Both are undefined if no model has answered. */
  async #answered(
    context: AttemptContext,
    started: StartedAttempt,
    settle: (cost?: number, usage?: TokenUsage) => void,
  ): Promise<Accepted> {
    let usage: TokenUsage | undefined;
    try {
      const answer = await super.attempt(context, started);
      ({ usage } = answer as ModelAccepted);
      return answer;
    } catch (error) {
      if (error instanceof UnusableAnswer) ({ usage } = error);
      throw error;
    } finally {
      const cost = usage && costOf(this.#rules.price, usage);
      settle(cost, usage);
      if (usage) {
        this.#usage = usageSum(this.#usage, usage);
        context.report({ type: 'tokens', input: usage.input, output: usage.output, cost });
      }
    }
  }
}

function mostOf(price: TokenPrice, input: number, output: number): number {
  return costOf({ ...price, input: Math.max(price.input, price.cached) }, { input, output, cached: 0 }) as number;
}

function refusalText(refusal: SpendingRefusal, { node, maxCost, maxTokens }: ConversationRules, spent: number, most: number): string {
  if (refusal === 'unstated')
    return `max_cost of ${node} cannot be enforced: the answers do not state their tokens; leave max_cost out to run without a maximum`;
  return `max_cost ${maxCost} of ${node}: ${spent} spent, and the next call could cost ${Number(most.toPrecision(3))} (max_tokens ${maxTokens})`;
}

/** An empty answer is left out, because Anthropic refuses empty messages. The correction then follows the question. */
function corrected(turns: readonly Turn[], answer: string, text: string): readonly Turn[] {
  if (answer.trim() !== '') return [...turns, { role: 'assistant', text: answer }, { role: 'user', text }];
  return [...turns.slice(0, -1), ...turns.slice(-1).map((last) => ({ ...last, text: `${last.text}\n\n${text}` }))];
}

function correction(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}. Answer again with JSON that fits it, and nothing else.`;
}

/** Returns the answer with the number of tokens and their cost added, so that a map can read them. */
export function withUsage(answer: ModelAccepted, usage: TokenUsage, price: TokenPrice | undefined): ModelAccepted {
  const { input, output, cached } = usage;
  const counts = { input_tokens: input, output_tokens: output, cached_tokens: cached };
  return { ...answer, usage, body: { ...(answer.body as JsonObject), usage: counts, cost: costOf(price, usage) ?? null } };
}

export function costOf(price: TokenPrice | undefined, { input, output, cached }: TokenUsage): number | undefined {
  return price && rounded(((input - cached) * price.input + cached * price.cached + output * price.output) / 1e6);
}

function usageSum(one: TokenUsage, other: TokenUsage): TokenUsage {
  return { input: one.input + other.input, output: one.output + other.output, cached: one.cached + other.cached };
}

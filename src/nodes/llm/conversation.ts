import type { AttemptContext } from '../../core/call.ts';
import { Failure, LimitReached } from '../../core/failure.ts';
import type { CallPolicy } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { rounded, type SpendingRefusal } from '../../core/spending.ts';
import type { JsonObject } from '../../core/value/value.ts';
import { type Accepted, RequestCall } from '../calling.ts';
import type { Turn, Usage } from './provider.ts';

/** An answer with status 200 that is no success. Its tokens count. */
export class UnusableAnswer extends Failure {
  /** `text`: the answer that the model is shown when it is asked again. `usage`: undefined if no model has answered. `reason`: what does not fit; undefined if asking again is of no use. */
  constructor(
    message: string,
    readonly text: string,
    readonly usage: Usage | undefined,
    readonly reason?: string,
  ) {
    super('answer', message, { status: 200 });
  }
}

/** An accepted answer of a model. */
export interface ModelAccepted extends Accepted {
  readonly usage: Usage;
}

/** The prices of tokens, per million. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** The rules of a conversation. */
export interface ConversationRules {
  /** The id of the node, for messages. */
  readonly node: string;
  /** The price of tokens; undefined if the flow states no price. */
  readonly price: TokenPrice | undefined;
  /** Undefined without a maximum. */
  readonly maxCost: number | undefined;
  /** Maximum of an answer's tokens. */
  readonly maxTokens: number;
  /** Times that the model is asked again if its answer does not fit. */
  readonly invalidRetries: number;
}

/** The question of a call, which grows with every answer that does not fit. */
export interface Dialog {
  readonly turns: readonly Turn[];
  request(turns: readonly Turn[]): HttpRequest;
  /** The bytes of the question's texts. */
  bytes(turns: readonly Turn[]): number;
}

/** A call of a model: one action, in which an answer that does not fit is asked for again. */
export class Conversation extends RequestCall {
  readonly #rules: ConversationRules;
  readonly #dialog: Dialog;
  #turns: readonly Turn[];
  #usage: Usage = { input: 0, output: 0, cached: 0 };
  #invalid = 0;

  constructor(rules: ConversationRules, dialog: Dialog, policy: CallPolicy, record: Fields) {
    super(policy, dialog.request(dialog.turns), record);
    this.#rules = rules;
    this.#dialog = dialog;
    this.#turns = dialog.turns;
  }

  override async attempt(context: AttemptContext): Promise<Accepted> {
    for (;;) {
      try {
        const answer = (await this.#paid(context)) as ModelAccepted;
        return withUsage(answer, this.#usage, this.#rules.price);
      } catch (error) {
        if (!(error instanceof UnusableAnswer) || error.reason === undefined || this.#invalid === this.#rules.invalidRetries) throw error;
        this.#invalid++;
        this.#turns = [...this.#turns, { role: 'assistant', text: error.text }, { role: 'user', text: correction(error.reason) }];
        this.request = this.#dialog.request(this.#turns);
      }
    }
  }

  /** Makes one request within the maximum cost. */
  async #paid(context: AttemptContext): Promise<Accepted> {
    const { maxCost, price } = this.#rules;
    const { spending } = context;
    if (maxCost === undefined || !price) return this.#answered(context, (cost) => spending.add(cost ?? 0));
    const bytes = this.#dialog.bytes(this.#turns);
    const most = () => mostOf(price, spending.prompts.of(bytes), this.#rules.maxTokens);
    const held = await spending.begin(maxCost, most);
    if (typeof held !== 'number') {
      const facts = held === 'used-up' ? ({ code: 'max-cost', details: { node: this.#rules.node } } as const) : undefined;
      throw new LimitReached(refusalText(held, this.#rules, spending.total, most()), 'max-credits', facts);
    }
    return this.#answered(context, (cost, usage) => {
      if (usage && usage.input + usage.output === 0) spending.noteUnstated();
      if (usage && usage.input > 0) spending.prompts.learn(bytes, usage.input);
      spending.end(held, cost);
    });
  }

  /** Makes one request. `settle` gets its cost and its tokens: undefined if no model has answered. */
  async #answered(context: AttemptContext, settle: (cost?: number, usage?: Usage) => void): Promise<Accepted> {
    let usage: Usage | undefined;
    try {
      const answer = await super.attempt(context);
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

/** The most that a question can cost. */
function mostOf(price: TokenPrice, input: number, output: number): number {
  return costOf({ ...price, input: Math.max(price.input, price.cached) }, { input, output, cached: 0 }) as number;
}

/** The reason why a run ends at its maximum cost. */
function refusalText(refusal: SpendingRefusal, { node, maxCost, maxTokens }: ConversationRules, spent: number, most: number): string {
  if (refusal === 'unstated')
    return `max_cost of ${node} cannot be kept: the answers do not state their tokens; leave max_cost out to run without a maximum`;
  return `max_cost ${maxCost} of ${node}: ${spent} spent, and the next call may cost ${Number(most.toPrecision(3))} (max_tokens ${maxTokens})`;
}

/** The sentence that asks again. */
function correction(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}. Answer again with JSON that fits it, and nothing else.`;
}

/** The answer with these tokens and their cost. */
export function withUsage(answer: ModelAccepted, usage: Usage, price: TokenPrice | undefined): ModelAccepted {
  const { input, output, cached } = usage;
  const counts = { input_tokens: input, output_tokens: output, cached_tokens: cached };
  return { ...answer, usage, body: { ...(answer.body as JsonObject), usage: counts, cost: costOf(price, usage) ?? null } };
}

/** The cost of tokens; undefined without a price. */
export function costOf(price: TokenPrice | undefined, { input, output, cached }: Usage): number | undefined {
  return price && rounded(((input - cached) * price.input + cached * price.cached + output * price.output) / 1e6);
}

function usageSum(one: Usage, other: Usage): Usage {
  return { input: one.input + other.input, output: one.output + other.output, cached: one.cached + other.cached };
}

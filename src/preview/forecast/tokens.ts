import type { Step } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { rounded } from '../../core/spending.ts';
import type { Range } from './actions.ts';
import type { Probes } from './walk.ts';

/** A node that ends the run early, because it reaches its maximum cost if every answer has the maximum length. */
interface CostStop {
  readonly node: string;
  readonly maxCost: number;
  /** The node can ask this many questions before it reaches its maximum cost. */
  readonly questions: number;
}

export interface EstimatedTokens {
  readonly input: number;
  /** Number of tokens in all answers if every answer has the maximum length. */
  readonly maxOutput: number;
  /** Undefined if a node has no token price. */
  readonly maxCost: number | undefined;
  readonly stops: readonly CostStop[];
}

interface KnownTokens {
  questions: number;
  input: number;
}

/** A question that depends on an earlier response is assumed to have the average length of the known questions. */
export class TokenForecast {
  readonly #steps: readonly Step[];
  readonly #known: readonly KnownTokens[];

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#known = steps.map(() => ({ questions: 0, input: 0 }));
  }

  add(index: number, fields: Fields): void {
    const { tokens } = this.#steps[index]?.node.action ?? {};
    if (!tokens) return;
    const known = this.#known[index] as KnownTokens;
    known.questions++;
    known.input += tokens.inputOf(fields);
  }

  /** Undefined if no step calls an LLM. */
  total(ranges: readonly Range[], probes: Probes): EstimatedTokens | undefined {
    const each = this.#steps.flatMap((_, index) => this.#ofStep(index, (ranges[index] as Range).expected, probes) ?? []);
    if (each.length === 0) return undefined;
    const sum = (of: (tokens: EstimatedTokens) => number) => each.reduce((total, tokens) => total + of(tokens), 0);
    const hasPrices = each.every(({ maxCost }) => maxCost !== undefined);
    return {
      input: sum(({ input }) => input),
      maxOutput: sum(({ maxOutput }) => maxOutput),
      maxCost: hasPrices ? rounded(sum(({ maxCost = 0 }) => maxCost)) : undefined,
      stops: each.flatMap(({ stops }) => stops),
    };
  }

  #ofStep(index: number, expected: number, probes: Probes): EstimatedTokens | undefined {
    const { tokens } = this.#steps[index]?.node.action ?? {};
    if (!tokens) return undefined;
    const known = this.#known[index] as KnownTokens;
    const length = known.questions > 0 ? known.input / known.questions : (probes.of(index)?.inputTokens ?? 0);
    const input = Math.round(expected * length);
    const maxOutput = expected * tokens.maxOutput;
    const maxCost = tokens.cost(input, maxOutput);
    return { input, maxOutput, maxCost, stops: stopsOf(this.#steps[index] as Step, expected, maxCost) };
  }
}

function stopsOf({ id, node }: Step, questions: number, cost = 0): CostStop[] {
  const { maxCost } = node.action?.tokens ?? {};
  if (maxCost === undefined || cost <= maxCost) return [];
  return [{ node: id, maxCost, questions: Math.floor((questions * maxCost) / cost) }];
}

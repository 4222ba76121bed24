import type { Tally } from '../../../app/progress/tally.ts';
import { formatCount } from '../../../core/text/number.ts';

/** A line for each node that asked a model: `llm-1: 1,204,331 tokens in, 88,120 out, cost 0.48`. */
export function tokenLines({ tokens }: Tally): string[] {
  return [...tokens].map(([node, { input, output, cost }]) => {
    const price = cost === undefined ? '' : `, cost ${Number(cost.toPrecision(4))}`;
    return `  ${node}: ${formatCount(input)} tokens in, ${formatCount(output)} out${price}`;
  });
}

/** The same for programs; absent if no model was asked. */
export function tokensJson({ tokens }: Tally): object {
  if (tokens.size === 0) return {};
  const counts = [...tokens].map(([node, { input, output, cost }]) => ({
    node,
    input_tokens: input,
    output_tokens: output,
    cost: cost ?? null,
  }));
  return { tokens: counts };
}

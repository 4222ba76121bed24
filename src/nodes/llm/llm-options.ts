import * as z from 'zod';
import { concurrency, timeout } from '../../core/options/amounts.ts';
import { credentialName, fieldName, name } from '../../core/options/names.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { isObject, type JsonObject, membersOf } from '../../core/value/value.ts';
import { cacheOption, callOptions, meanings } from '../call-policy.ts';
import { output } from './output.ts';
import { maxTokensNames } from './provider.ts';
import { providerNames } from './providers.ts';

const perMillion = z.number().min(0);

/** The prices per million tokens, in any currency. */
const price = z.strictObject({
  input: perMillion.describe('price of a million input tokens'),
  output: perMillion.describe('price of a million output tokens'),
  cached_input: perMillion.optional().describe('price of a million cached input tokens (default: the price of input)'),
});

const ofProvider = "(default: the provider's)";

export const llmOptions = z.strictObject({
  provider: z
    .enum(providerNames, { error: `expected provider, one of ${providerNames.join(', ')}` })
    .describe('the kind of API: that of this provider, or of a server that is compatible with it'),
  model: z.string().min(1, 'expected the name of a model').describe('the name of the model, as the provider writes it'),
  credential: z
    .union([z.literal('none'), credentialName])
    .optional()
    .describe("the name of the credential that holds the API key (default: the provider's name with -api-key, none for ollama)"),
  connection: name.optional().describe('instead of base_url and credential: a connection to a compatible server'),
  base_url: z
    .string()
    .optional()
    .describe("the URL of a compatible server up to the version, such as https://api.openai.com/v1 (default: the provider's own)"),
  system: z.string().optional().describe('instructions for the model, with {{field}}'),
  prompt: z.string().min(1, 'expected a prompt').describe('the question for each record, with {{field}}'),
  output: output
    .optional()
    .describe('the properties of the answer, each with a type: string, number, integer, boolean, list, or { enum: [a, b] }'),
  schema: dictionary(fieldName, z.unknown()).optional().describe('instead of output: a complete JSON Schema of the answer'),
  strict: z
    .boolean()
    .optional()
    .describe('openai: false if OpenAI does not accept the schema as strict; the schema is then only a hint to the model (default: true)'),
  max_tokens: z
    .int()
    .min(1)
    .default(4096)
    .describe('maximum length of an answer in tokens, including those that a reasoning model spends on thinking'),
  max_tokens_name: z
    .enum(maxTokensNames)
    .optional()
    .describe('openai: the name under which the server expects max_tokens (default: max_completion_tokens)'),
  temperature: z.number().min(0).max(2).optional().describe(`how random the answers are, 0 to 2 ${ofProvider}`),
  top_p: z.number().min(0).max(1).optional().describe(`choose only among the most likely tokens, 0 to 1 ${ofProvider}`),
  seed: z.int().optional().describe(`the seed: with the same number, the provider tries to give the same answer again ${ofProvider}`),
  effort: z.string().min(1).optional().describe(`how much a reasoning model thinks, such as low ${ofProvider}`),
  thinking: z
    .enum(['drop', 'keep'], { error: 'expected drop or keep' })
    .default('drop')
    .describe('keep: thinking at the beginning of an answer, such as <think>...</think>, is part of the answer'),
  extra: dictionary(fieldName, z.unknown()).optional().describe('more parameters for the request, sent to the provider as you write them'),
  prompt_cache: z.boolean().default(false).describe('anthropic: cache the system prompt'),
  invalid_retries: z
    .int()
    .min(0)
    .max(3)
    .default(1)
    .describe('how often the question is repeated if the answer does not fit output or schema'),
  price: price.optional().describe('prices of a million tokens in your currency, so that the summary shows what the run cost'),
  max_cost: z
    .number()
    .min(0)
    .optional()
    .describe('maximum cost of all calls of this node in a run: no call starts that could exceed it; requires price (default: no limit)'),
  ...callOptions,
  timeout: timeout.prefault('120s').describe(meanings.timeout),
  concurrency: concurrency.optional().describe(`${meanings.concurrency} (default: the connection's, or 8)`),
  map: callOptions.map.describe(`${meanings.map} (default: the properties of output, or answer)`),
  cache: cacheOption,
});

export type LlmOptions = z.output<typeof llmOptions>;

/** Members that a flow must not set in `extra`. The node cannot read streams, and has a separate option for the length of answers. */
const ownMembers = new Set(['stream', 'max_tokens', 'max_completion_tokens']);

/** If both contain an object of the same name, the objects are merged. */
export function withExtra(body: JsonObject, extra: JsonObject): JsonObject {
  const added = membersOf(extra).map(([name, value]) => {
    const own = body[name];
    return [name, isObject(own) && isObject(value) ? withExtra(own, value) : value] as const;
  });
  return Object.fromEntries([...Object.entries(body), ...added]);
}

export function clashesOf(body: JsonObject, extra: JsonObject, at: readonly string[] = []): (readonly string[])[] {
  return membersOf(extra).flatMap(([name, value]) => {
    const place = [...at, name];
    if (at.length === 0 && ownMembers.has(name)) return [place];
    if (!Object.hasOwn(body, name)) return [];
    const own = body[name];
    return isObject(own) && isObject(value) ? clashesOf(own, value, place) : [place];
  });
}

import * as z from 'zod';
import { concurrency, credits, duration, rate, timeout } from '../../core/options/amounts.ts';
import { credentialName, fieldName, name } from '../../core/options/names.ts';
import { defaultRetry, retry } from '../../core/options/retry.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { map, whenEmpty } from '../call-policy.ts';
import { output } from './output.ts';
import { maxTokensNames } from './provider.ts';
import { providerNames } from './providers.ts';

const perMillion = z.number().min(0);

/** The prices of tokens, per million, in any currency. */
const price = z.strictObject({
  input: perMillion,
  output: perMillion,
  cached_input: perMillion.optional().describe('default: as input'),
});

/** The options of an LLM node. */
export const llmOptions = z.strictObject({
  provider: z.enum(providerNames, { error: `expected provider, one of ${providerNames.join(', ')}` }),
  model: z.string().min(1, 'expected the name of a model'),
  credential: z
    .union([z.literal('none'), credentialName])
    .optional()
    .describe("default: the provider's name with -api-key; none for ollama"),
  connection: name.optional().describe('a compatible server, instead of base_url and credential'),
  base_url: z.string().optional().describe('a compatible server; ends before the path, as in https://api.openai.com/v1'),
  system: z.string().optional().describe('instructions for the model, with {{field}}'),
  prompt: z.string().min(1, 'expected a prompt').describe('what the model is asked for each record, with {{field}}'),
  output: output.optional().describe('the properties of the answer: string, number, integer, boolean, list, or { enum: [a, b] }'),
  schema: dictionary(fieldName, z.unknown()).optional().describe('instead of output: a whole JSON Schema'),
  strict: z.boolean().optional().describe('openai: false for a schema that OpenAI does not take as strict; then it is a hint to the model'),
  max_tokens: z.int().min(1).default(4096).describe('maximum length of an answer, with the tokens of a model that thinks'),
  max_tokens_name: z
    .enum(maxTokensNames)
    .optional()
    .describe('openai: the name of max_tokens for the server; default max_completion_tokens'),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  seed: z.int().optional(),
  effort: z.string().min(1).optional().describe('how much a reasoning model thinks, such as low'),
  extra: dictionary(fieldName, z.unknown()).optional().describe("the server's own parameters, added to the request as they are"),
  prompt_cache: z.boolean().default(false).describe('anthropic: cache the system prompt'),
  invalid_retries: z.int().min(0).max(3).default(1).describe('asks again if an answer does not fit output or schema'),
  price: price.optional().describe('prices per million tokens, in your currency'),
  max_cost: z
    .number()
    .min(0)
    .optional()
    .describe("maximum cost of this node's calls in a run: no call starts that may go over it; needs price"),
  timeout: timeout.prefault('120s').describe('one limit for the whole request'),
  retry: retry.prefault(defaultRetry).describe('when and how often a request is sent again'),
  rate: rate.optional().describe('limit the request rate, such as 10/s'),
  concurrency: concurrency
    .optional()
    .describe('requests in flight at once; 8 unless the connection says otherwise; auto: the run finds the number'),
  cache: duration.optional().describe('how long an answer is cached on disk for identical questions'),
  map: map.optional().describe('the fields that the answer adds; default: the properties of output, else answer'),
  when_empty: whenEmpty,
  credits: credits.optional().describe('what one question costs; 1 unless the connection says otherwise'),
});

/** The checked options of an LLM node. */
export type LlmOptions = z.output<typeof llmOptions>;

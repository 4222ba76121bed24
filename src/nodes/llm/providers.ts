import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openaiResponses } from './openai-responses.ts';
import type { Provider } from './provider.ts';

export const providers = { openai, 'openai-responses': openaiResponses, anthropic, gemini, ollama } as const satisfies Readonly<
  Record<string, Provider>
>;

type ProviderName = keyof typeof providers;

export const providerNames = Object.keys(providers) as ProviderName[];

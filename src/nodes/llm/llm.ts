import type { ActionRequest, TokenEstimate } from '../../core/action.ts';
import { compileMapping, type WrittenMap } from '../../core/answer/mapping.ts';
import { pathTo } from '../../core/answer/path.ts';
import { type Auth, neededCredentials, placedAuths } from '../../core/auth/auth.ts';
import { loginIn } from '../../core/auth/login-need.ts';
import { noClock } from '../../core/condition/evaluation.ts';
import type { HttpConnection } from '../../core/connection.ts';
import { type Action, type BuildContext, type CredentialNeed, defineNode, type FieldUse, type Node, Unasked } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import { type Fields, withNulls } from '../../core/record.ts';
import { textTemplate } from '../../core/template/template.ts';
import { type JsonObject, jsonOf, objectOf, type Value } from '../../core/value/value.ts';
import { callPolicy, connectionOf, mappedColumns, tryOption } from '../call-policy.ts';
import { readMapped, reported } from '../calling.ts';
import { httpOptions } from '../http/http-options.ts';
import { compileRequest, type RequestTemplate, usesWithin } from '../http/request-template.ts';
import { Conversation, costOf, type Dialog, type TokenPrice } from './conversation.ts';
import { clashesOf, type LlmOptions, llmOptions, withExtra } from './llm-options.ts';
import { type AnswerParts, acceptAnswer } from './model-answer.ts';
import { checkedSchema, OutputCheck, propertiesOf, schemaOf } from './output.ts';
import { type ModelQuestion, maxTokensNames, type Provider } from './provider.ts';
import { providers } from './providers.ts';
import { checkStrictSchema } from './strict-schema.ts';

export const llm = defineNode({
  name: 'llm',
  summary: 'LLM: asks a language model about each record, and checks its answer',
  example: `- type: llm
  provider: openai
  model: gpt-5-mini
  prompt: "Company: {{name}}"
  output: { industry: { enum: [retail, software, other] }, employees: { type: integer, optional: true } }`,
  options: llmOptions,
  build: buildLlm,
});

const defaultConcurrency = 8;

function buildLlm(options: LlmOptions, context: BuildContext): Node | undefined {
  const connection = connectionOf(options, context);
  const provider: Provider = providers[options.provider];
  checkLlmOptions(options, provider, context);
  const schema = options.output ? schemaOf(options.output) : (options.schema as JsonObject | undefined);
  const checked = options.output ? checkedSchema(options.output) : schema;
  const check = tryOption(context, ['schema'], () => checked && new OutputCheck(checked));
  const mapping = tryOption(context, ['map'], () => compileMapping(options.map ?? defaultMap(schema), options.when_empty));
  const auth = authOf(options, provider);
  const request = requestOf(options, { provider, auth, connection }, context);
  const concurrency = options.concurrency ?? (connection?.concurrency === undefined ? defaultConcurrency : undefined);
  const policy = callPolicy({ ...options, concurrency }, connection, context);
  const parts = answerPartsOf(options, provider, check);
  const { price, maxTokens } = parts;
  const question = questionOf(options, schema);
  const maxAgeMs = options.cache;
  if (!mapping) return undefined;
  const extra = (options.extra ?? {}) as JsonObject;
  checkExtra(provider.body(fullestQuestion(options, schema)), extra, context);
  const ask = (asked: ModelQuestion, fields: Fields): HttpRequest => ({
    ...request.render(fields, noClock),
    body: jsonOf(withExtra(provider.body(asked), extra)),
    testName: `llm ${context.id}`,
  });
  const skipped = (fields: Fields) => new Unasked(withNulls(fields, mapping.fields));
  const action: Action = {
    ...policy,
    readsFacts: mapping.readsFacts,
    prepare(fields) {
      const asked = question(fields);
      return isBlank(asked) ? skipped(fields) : ask(asked, fields);
    },
    accept: (response) => acceptAnswer(parts, response as HttpResponse),
    read: (fields, answer) => readMapped(mapping, fields, answer),
    ...(maxAgeMs !== undefined && { cache: { maxAgeMs, key: (asked: ActionRequest) => llmCacheKey(options, asked as HttpRequest) } }),
    credentials: needsOf(auth, connection, request.origin),
    expands: mapping.expands,
    maxCalls: 1,
    makesDocument: true,
    paths: mapping.paths,
    fields: mapping.fields,
    tokens: tokensOf(question, parts, options.max_cost),
  };
  const rules = { node: context.id, price, maxCost: options.max_cost, maxTokens, invalidRetries: options.invalid_retries };
  const converse: Node['run'] = async (fields, context) => {
    const asked = question(fields);
    if (isBlank(asked)) return [skipped(fields).row];
    const dialog = dialogOf(asked, (question) => ask(question, fields));
    const answer = await context.call(new Conversation(rules, dialog, action, fields));
    const reading = action.read(fields, answer);
    // As with lookups, the paths of the default map are not counted in the summary.
    return options.map === undefined ? reading.rows : reported(action, reading, context);
  };
  return { reads: usesOf(options), ...mappedColumns(mapping), run: converse, action };
}

function answerPartsOf(options: LlmOptions, provider: Provider, check: OutputCheck | undefined): AnswerParts {
  const { model, maxTokens, maxTokensName } = fixedQuestion(options, undefined);
  const key = keyOf(options, provider);
  return { provider, key, check, keepsThinking: options.thinking === 'keep', price: priceOf(options), model, maxTokens, maxTokensName };
}

function questionOf(options: LlmOptions, schema: JsonObject | undefined): (fields: Fields) => ModelQuestion {
  const system = options.system === undefined ? undefined : textTemplate(options.system);
  const prompt = textTemplate(options.prompt);
  const fixed = fixedQuestion(options, schema);
  return (fields) => ({ ...fixed, system: system?.(fields), turns: [{ role: 'user', text: prompt(fields) }] });
}

function fixedQuestion(options: LlmOptions, schema: JsonObject | undefined): Omit<ModelQuestion, 'system' | 'turns'> {
  const { model, max_tokens: maxTokens, max_tokens_name: maxTokensName = maxTokensNames[0] } = options;
  const { temperature, top_p, seed, effort, prompt_cache: cachesPrompt, strict: isStrict = true } = options;
  return { model, maxTokens, maxTokensName, schema, isStrict, temperature, top_p, seed, effort, cachesPrompt };
}

/** Returns a question that uses every option a flow may set. The request for it shows which members of the body the node itself sets. */
function fullestQuestion(options: LlmOptions, schema: JsonObject | undefined): ModelQuestion {
  const tuning = { temperature: 0, top_p: 0, seed: 0, effort: '' };
  return { ...fixedQuestion(options, schema), ...tuning, system: '', turns: [{ role: 'user', text: '' }] };
}

function checkExtra(body: JsonObject, extra: JsonObject, { problem }: BuildContext): void {
  for (const place of clashesOf(body, extra)) {
    problem(['extra', ...place], `the node sets ${place.join('.')} itself; leave it out here, and use the option for it`);
  }
}

function dialogOf(asked: ModelQuestion, ask: (asked: ModelQuestion) => HttpRequest): Dialog {
  return {
    turns: asked.turns,
    request: (turns) => ask({ ...asked, turns }),
    bytes: (turns) => utf8.encode(textsOf({ ...asked, turns })).length,
  };
}

function tokensOf(
  question: (fields: Fields) => ModelQuestion,
  { price, maxTokens: maxOutput }: AnswerParts,
  maxCost: number | undefined,
): TokenEstimate {
  return {
    inputOf: (fields) => estimatedTokens(question(fields)),
    maxOutput,
    maxCost,
    cost: (input, output) => costOf(price, { input, output, cached: 0 }),
  };
}

const charactersPerToken = 4;

function estimatedTokens(question: ModelQuestion): number {
  return Math.ceil(textsOf(question).length / charactersPerToken);
}

const utf8 = new TextEncoder();

function textsOf({ system = '', turns, schema }: ModelQuestion): string {
  return [system, ...turns.map(({ text }) => text), schema ? jsonOf(schema) : ''].join('');
}

function isBlank({ turns }: ModelQuestion): boolean {
  return turns.every(({ text }) => text.trim() === '');
}

function usesOf({ system, prompt }: LlmOptions): FieldUse[] {
  return [...usesWithin(prompt, ['prompt']), ...usesWithin(system, ['system'])];
}

type LlmNodeConnection = HttpConnection | undefined | null;

/** Returns the way in which the node itself signs requests; undefined if it has no credential, or if the connection signs the requests. */
function authOf({ connection, credential }: LlmOptions, provider: Provider): Auth | undefined {
  const name = credential ?? (connection === undefined ? provider.credential : undefined);
  return name === undefined || name === 'none' ? undefined : provider.auth(name);
}

function keyOf({ connection, credential }: LlmOptions, { credential: usual = 'none' }: Provider): string {
  const name = credential ?? (connection === undefined ? usual : undefined);
  if (name === undefined) return `the key of the connection "${connection}"`;
  return name === 'none' ? 'a request without a key' : `the key "${name}"`;
}

function requestOf(
  options: LlmOptions,
  { provider, auth, connection }: { readonly provider: Provider; readonly auth: Auth | undefined; readonly connection: LlmNodeConnection },
  context: BuildContext,
): RequestTemplate {
  const { base_url: baseUrl = provider.baseUrl, timeout, model } = options;
  const path = provider.path(model);
  const written = httpOptions.parse({
    method: 'POST',
    url: options.connection === undefined ? baseUrl.replace(/\/+$/, '') + path : path,
    headers: { 'Content-Type': 'application/json', ...provider.headers },
    auth: auth ?? (options.connection === undefined || options.credential === 'none' ? 'none' : undefined),
    timeout,
  });
  const at = options.connection === undefined ? 'base_url' : 'connection';
  return compileRequest(written, connection, { ...context, problem: (_at, message) => context.problem([at], message) });
}

function needsOf(auth: Auth | undefined, connection: LlmNodeConnection, origin: string | undefined): CredentialNeed[] {
  const own = auth ? neededCredentials(auth, origin).map((need) => ({ ...need, at: ['credential'] })) : [];
  const signing = auth ? [] : placedAuths(connection?.auth).flatMap(({ auth }) => neededCredentials(auth, origin));
  const all = [...own, ...signing.map((need) => ({ ...need, ...loginIn(need, connection), at: ['connection'] }))];
  return all.map(({ name: field, ...need }) => ({ field, ...need }));
}

function priceOf({ price }: LlmOptions): TokenPrice | undefined {
  return price && { input: price.input, output: price.output, cached: price.cached_input ?? price.input };
}

/** For a node without `map`. Reads the properties of the answer, or its text if it has none. */
function defaultMap(schema: JsonObject | undefined): WrittenMap {
  const names = schema ? propertiesOf(schema) : [];
  if (names.length === 0) return { answer: 'text' };
  return objectOf(names.map((name) => [name, pathTo('output', name)] as const));
}

/** Returns the cache key of a question. Questions with the same key have the same answer. */
function llmCacheKey({ provider, output, schema, thinking }: LlmOptions, { origin, path, body }: HttpRequest): string {
  const kept = thinking === 'keep' ? [thinking] : [];
  return jsonOf(['llm', provider, origin + path, body ?? null, (output ?? schema ?? null) as Value, ...kept]);
}

function checkLlmOptions(options: LlmOptions, provider: Provider, { problem }: BuildContext): void {
  const { connection, base_url: baseUrl, output, schema, strict, max_cost: maxCost, price } = options;
  for (const name of provider.lacks) {
    if (options[name] !== undefined && (name !== 'prompt_cache' || options[name]))
      problem([name], `${options.provider} has no ${name}; leave it out`);
  }
  if (connection !== undefined && baseUrl !== undefined) problem(['base_url'], 'expected connection or base_url, found both');
  if (output && schema) problem(['schema'], 'expected output or schema, found both');
  if (schema && strict !== false && !provider.lacks.includes('strict')) {
    checkStrictSchema(schema as JsonObject, (at, message) => problem(['schema', ...at], `${message}; or write strict: false`));
  }
  if (maxCost !== undefined && !price) problem(['max_cost'], 'max_cost needs price: { input: N, output: N }, per million tokens');
}

import { ownNames } from '../core/column-names.ts';
import { durationText } from '../core/duration.ts';
import type { CodedMessage } from '../core/error-code.ts';
import type { Event } from '../core/event.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { parseJson } from '../core/value/json.ts';
import { type JsonObject, jsonOf } from '../core/value/value.ts';
import type { Redactor } from '../credentials/redact.ts';
import { recordOf } from '../records/json/json-record.ts';
import { longNameError } from '../records/record-reader.ts';
import type { CallResult } from '../run/flow-calls.ts';
import type { FlowFolder, ServedFlow } from '../run/flow-folder.ts';
import { nodeTypes } from '../run/node-types.ts';
import { type OfferedTool, plainOf, type Toolbox, type ToolCallContext, type ToolResult, WrongCall } from './toolbox.ts';

/** A client's call to a flow that is provided as an MCP tool. */
export interface FlowToolCall<Caller> {
  readonly flow: ServedFlow;
  readonly fields: Fields;
  readonly caller: Caller;
  readonly gone: AbortSignal;
  /** Receives the call's events; undefined if the client does not watch them. */
  readonly report: ((event: Event, redactor: Redactor) => void) | undefined;
}

interface FlowToolsOptions<Caller> {
  readonly flows: FlowFolder;
  sees(caller: Caller, flow: ServedFlow): boolean;
  run(call: FlowToolCall<Caller>): Promise<CallResult>;
  /** Returns the message, with a remedy, for an error that would affect other records, too. Undefined if the error is a bug. */
  errorText(error: unknown): string | undefined;
  /** Returns the message, with a remedy, for a call that ended without a result because no credits were left. */
  usedUpText(reason: CodedMessage): string;
  say(text: string): void;
  bug(error: unknown): void;
}

interface NamedFlow {
  readonly name: string;
  readonly flow: ServedFlow;
}

/** Maximum number of characters in a tool's name. */
const maxName = 128;

/** The valid flows of a folder, provided as MCP tools. */
export class FlowTools<Caller> implements Toolbox<Caller> {
  readonly #options: FlowToolsOptions<Caller>;
  /** The tools of the flows. A tool is created on first use, and re-created when the flow's file changes. */
  readonly #tools = new WeakMap<ServedFlow, Omit<OfferedTool, 'name'>>();
  /** Log lines about flows that could not use their own name as the tool's name. Each line is written only once. */
  readonly #said = new Set<string>();
  #seen: string | undefined;

  constructor(options: FlowToolsOptions<Caller>) {
    this.#options = options;
  }

  async list(caller: Caller): Promise<OfferedTool[]> {
    return (await this.#named(caller)).map(({ name, flow }) => ({ name, ...this.#toolOf(flow) }));
  }

  async call(name: string, args: JsonObject, { caller, signal, progress }: ToolCallContext<Caller>): Promise<ToolResult> {
    const flow = (await this.#named(caller)).find((one) => one.name === name)?.flow;
    if (!flow) throw new WrongCall(`there is no tool "${name.slice(0, maxName)}"`);
    const fields = fieldsOfCall(flow, args);
    const watch = progress && new CallProgress(progress);
    try {
      return this.#answer(flow, await this.#options.run({ flow, fields, caller, gone: signal, report: watch?.report }));
    } catch (error) {
      const text = this.#options.errorText(error);
      if (text === undefined) throw error;
      return errorAnswer(text);
    } finally {
      watch?.end();
    }
  }

  bug(error: unknown): void {
    this.#options.bug(error);
  }

  /** True if any tool has changed since the previous call of this method. */
  async haveChanged(): Promise<boolean> {
    const flows = await this.#flows();
    const now = JSON.stringify(this.#namesOf(flows).map(({ name, flow }) => [name, flow.id, this.#toolOf(flow)]));
    const hasChanged = this.#seen !== undefined && this.#seen !== now;
    this.#seen = now;
    return hasChanged;
  }

  #toolOf(flow: ServedFlow): Omit<OfferedTool, 'name'> {
    const known = this.#tools.get(flow);
    if (known) return known;
    if (!flow.plan) throw new Error(`${flow.id} is not valid`);
    const made = toolOfFlow(flow.plan);
    this.#tools.set(flow, made);
    return made;
  }

  /** Empty if the folder was deleted. */
  async #flows(): Promise<readonly ServedFlow[]> {
    try {
      return (await this.#options.flows.list()).flows;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  async #named(caller: Caller): Promise<NamedFlow[]> {
    const flows = await this.#flows();
    return this.#namesOf(flows).filter(({ flow }) => this.#options.sees(caller, flow));
  }

  /** Returns the valid flows with their tool names. A tool has the same name for all callers. */
  #namesOf(flows: readonly ServedFlow[]): NamedFlow[] {
    const taken = new Map<string, ServedFlow>();
    for (const flow of flows) {
      if (!flow.plan) continue;
      const own = toolName(flow.plan.name) || flow.id;
      const name = [own, flow.id].find((one) => !taken.has(one)) ?? freeName(flow.id, taken);
      const first = taken.get(own);
      if (first) this.#sayOnce(`the flow ${flow.id} becomes the tool "${name}", because the flow ${first.id} is already the tool "${own}"`);
      taken.set(name, flow);
    }
    return [...taken].map(([name, flow]) => ({ name, flow }));
  }

  #sayOnce(text: string): void {
    if (this.#said.has(text)) return;
    this.#said.add(text);
    this.#options.say(text);
  }

  #answer({ id }: ServedFlow, result: CallResult): ToolResult {
    switch (result.kind) {
      case 'done':
        return { isError: false, text: `{"rows":${result.rows}}`, structured: { rows: plainOf(parseJson(result.rows)) } };
      case 'failed':
        return errorAnswer(result.failure.message);
      case 'unpaid':
        return errorAnswer(this.#options.usedUpText(result.reason));
      case 'late':
        return errorAnswer(`${id} took more than ${result.waitMs / 1000} s; the requests already sent still cost credits`);
      case 'stopped':
        return errorAnswer(`${id} did not finish: ${result.why ?? 'it was stopped'}`);
    }
  }
}

function errorAnswer(text: string): ToolResult {
  return { isError: true, text };
}

/** Throws a WrongCall if a required argument is missing. */
function fieldsOfCall({ plan }: ServedFlow, args: JsonObject): Fields {
  const taken = plan ? fieldsTaken(plan) : [];
  const names = plan?.names ?? ownNames;
  const absent = taken.filter(({ name }) => !Object.hasOwn(args, name) && !Object.hasOwn(args, names.inFile(name)));
  const missing = absent.filter(({ isOptional }) => !isOptional).map(({ name }) => `"${name}"`);
  if (missing.length > 0) throw new WrongCall(`expected the argument${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`);
  const long = longNameError(Object.keys(args), 'body');
  if (long) throw new WrongCall(long.message);
  const given = recordOf(args, jsonOf(args)).fields;
  const twice = names.twiceIn(given);
  if (twice !== undefined) throw new WrongCall(twice);
  const fields = names.fieldsInFlow(given);
  return new Map([...fields, ...absent.map(({ name }) => [name, null] as const)]);
}

function toolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxName);
}

function freeName(id: string, taken: ReadonlyMap<string, unknown>): string {
  let number = 2;
  while (taken.has(`${id}_${number}`)) number++;
  return `${id}_${number}`;
}

/** If there is no event for this many ms, a progress message is sent anyway, because clients abort calls that send no messages. */
const beatMs = 5000;

/** Minimum time in ms between two progress messages that count answers, because one call can receive thousands of answers. */
const shortestMs = 250;

/** @internal */
export class CallProgress {
  readonly #tell: (message: string) => void;
  readonly #startedMs = performance.now();
  readonly #beat: NodeJS.Timeout;
  #toldMs = Number.NEGATIVE_INFINITY;
  #answers = 0;

  constructor(tell: (message: string) => void) {
    this.#tell = tell;
    this.#beat = setInterval(() => {
      const now = performance.now();
      if (now - this.#toldMs >= beatMs) this.#say(`waiting for ${durationText(Math.round((now - this.#startedMs) / 1000) * 1000)}`);
    }, beatMs);
  }

  readonly report = (event: Event, redactor: Redactor): void => {
    if (event.type === 'call-done' || event.type === 'cache-hit') this.#answered(event.node);
    else if (event.type === 'call-retried')
      this.#say(redactor.text(`${event.node}: ${event.message}; retries after ${durationText(event.waitMs)}`));
    else if (event.type === 'gate-paused') this.#say(`waits ${durationText(event.waitMs)}, because the server asked it to`);
    else if (event.type === 'tool-progress' && event.message !== undefined) this.#say(redactor.text(`${event.node}: ${event.message}`));
  };

  end(): void {
    clearInterval(this.#beat);
  }

  #answered(node: string): void {
    this.#answers++;
    if (performance.now() - this.#toldMs >= shortestMs)
      this.#say(`${node}: ${this.#answers === 1 ? '1 answer' : `${this.#answers} answers`}`);
  }

  #say(message: string): void {
    this.#toldMs = performance.now();
    this.#tell(message);
  }
}

function toolOfFlow(plan: Plan): Omit<OfferedTool, 'name'> {
  const taken = fieldsTaken(plan);
  const input = taken.map(({ name, isOptional }) => [
    name,
    {
      description: `the field "${plan.names.inFile(name)}" of the record, a string or any other JSON value${isOptional ? '; null if it is left out' : ''}`,
    },
  ]);
  const row = { type: 'object', properties: Object.fromEntries(plan.names.allInFile(plan.columns([])).map((name) => [name, {}])) };
  return {
    description: plan.description ?? descriptionOf(plan),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(input),
      required: taken.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
    },
    outputSchema: {
      type: 'object',
      properties: {
        rows: { type: 'array', description: 'the rows that the record becomes; empty if the flow drops the record', items: row },
      },
      required: ['rows'],
    },
  };
}

/** Describes for clients which nodes a flow has and which fields it adds. */
function descriptionOf(plan: Plan): string {
  const nodes = allSteps(plan.steps).map(({ id, type }) => `- ${id}: ${summaryOf(type)}`);
  const added = plan.names.allInFile(plan.columns([]));
  const adds = added.length > 0 ? [`It adds the fields ${added.join(', ')}.`] : [];
  return [`Runs the flow "${plan.name}" for one record:`, ...nodes, ...adds].join('\n');
}

function summaryOf(type: string): string {
  return nodeTypes.find(({ name }) => name === type)?.loaded?.summary ?? type;
}

interface TakenField {
  readonly name: string;
  /** True if records can lack the field, because the flow tests it for null. */
  readonly isOptional: boolean;
}

/** In a condition, these names refer to parts of a response, not to fields of the record. */
const answerNames: ReadonlySet<string> = new Set(['status', 'headers', 'body', 'record']);

/** Includes fields that the flow only compares with null. */
function fieldsTaken(plan: Plan): TakenField[] {
  const read = plan.neededFields();
  const tested = plan.nullTests();
  const made = new Set(allSteps(plan.steps).flatMap(({ node }) => node.columns([])));
  const onlyTested = tested.filter((name) => !read.includes(name) && !made.has(name) && !answerNames.has(name));
  const serial = plan.serialOrder?.optional ?? [];
  const all = [...new Set([...read, ...onlyTested, ...serial])];
  return all.map((name) => ({ name, isOptional: tested.includes(name) || !read.includes(name) }));
}

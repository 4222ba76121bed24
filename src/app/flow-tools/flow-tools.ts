import type { CodedMessage } from '../../core/error-code.ts';
import type { Event } from '../../core/event.ts';
import type { Fields } from '../../core/record.ts';
import { parseJson } from '../../core/value/json.ts';
import { type JsonObject, jsonOf } from '../../core/value/value.ts';
import { recordOf } from '../../io/records/readers/json/json-record.ts';
import { longNameError } from '../../io/records/readers/record-reader.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import { plainOf } from '../../io/tool-server/plain-values.ts';
import { type OfferedTool, type ToolAnswer, type Toolbox, type ToolCallContext, WrongCall } from '../../io/tool-server/toolbox.ts';
import type { CallResult } from '../calls/flow-calls.ts';
import { fieldsTaken } from '../flow/fields-read.ts';
import type { FlowFolder, ServedFlow } from '../flow/flow-folder.ts';
import { CallProgress } from './call-progress.ts';
import { toolOfFlow } from './tool-of-flow.ts';

/** The call of a flow's tool. */
export interface FlowToolCall<Caller> {
  readonly flow: ServedFlow;
  readonly fields: Fields;
  readonly caller: Caller;
  readonly gone: AbortSignal;
  /** Takes what happens in the call; undefined if the client does not watch it. */
  readonly report: ((event: Event, redactor: Redactor) => void) | undefined;
}

/** The parts that tools of flows take from the command or the server. */
export interface FlowToolsOptions<Caller> {
  readonly flows: FlowFolder;
  /** True if the caller may call a flow. */
  sees(caller: Caller, flow: ServedFlow): boolean;
  /** Runs a record through a flow. */
  run(call: FlowToolCall<Caller>): Promise<CallResult>;
  /** The text of an error that is no record's, with the way out; undefined for a bug. */
  errorText(error: unknown): string | undefined;
  /** The text of credits that are used up, with what to do. */
  usedUpText(reason: CodedMessage): string;
  /** Takes a line for the log. */
  say(text: string): void;
  /** Takes an error that is a bug. */
  bug(error: unknown): void;
}

/** A flow with the name of its tool. */
interface NamedFlow {
  readonly name: string;
  readonly flow: ServedFlow;
}

/** Maximum length of a tool's name. */
const maxName = 128;

/** The valid flows of a folder as tools. */
export class FlowTools<Caller> implements Toolbox<Caller> {
  readonly #options: FlowToolsOptions<Caller>;
  /** Made once for each state of a flow's file. */
  readonly #tools = new WeakMap<ServedFlow, Omit<OfferedTool, 'name'>>();
  /** The lines about flows that could not have their own name. */
  readonly #said = new Set<string>();
  #seen: string | undefined;

  constructor(options: FlowToolsOptions<Caller>) {
    this.#options = options;
  }

  async list(caller: Caller): Promise<OfferedTool[]> {
    return (await this.#named(caller)).map(({ name, flow }) => ({ name, ...this.#toolOf(flow) }));
  }

  async call(name: string, args: JsonObject, { caller, signal, progress }: ToolCallContext<Caller>): Promise<ToolAnswer> {
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

  /** True if the tools are others than at the last call, for some caller. */
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

  /** The flows of the folder; none once the folder is gone. */
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

  /** The valid flows with their names. A name is the same for all callers. */
  #namesOf(flows: readonly ServedFlow[]): NamedFlow[] {
    const taken = new Map<string, ServedFlow>();
    for (const flow of flows) {
      if (!flow.plan) continue;
      const own = toolName(flow.plan.name) || flow.id;
      const name = [own, flow.id].find((one) => !taken.has(one)) ?? freeName(flow.id, taken);
      const first = taken.get(own);
      if (first) this.#sayOnce(`the flow ${flow.id} is the tool "${name}": the flow ${first.id} is the tool "${own}" already`);
      taken.set(name, flow);
    }
    return [...taken].map(([name, flow]) => ({ name, flow }));
  }

  #sayOnce(text: string): void {
    if (this.#said.has(text)) return;
    this.#said.add(text);
    this.#options.say(text);
  }

  #answer({ id }: ServedFlow, result: CallResult): ToolAnswer {
    switch (result.kind) {
      case 'done':
        return { isError: false, text: `{"rows":${result.rows}}`, structured: { rows: plainOf(parseJson(result.rows)) } };
      case 'failed':
        return errorAnswer(result.failure.message);
      case 'unpaid':
        return errorAnswer(this.#options.usedUpText(result.reason));
      case 'late':
        return errorAnswer(`${id} took more than ${result.waitMs / 1000} s; what was sent is paid`);
      case 'stopped':
        return errorAnswer(`${id} did not finish: ${result.why ?? 'it was stopped'}`);
    }
  }
}

function errorAnswer(text: string): ToolAnswer {
  return { isError: true, text };
}

/** The record of a call. Throws a WrongCall if an argument is missing. */
function fieldsOfCall({ plan }: ServedFlow, args: JsonObject): Fields {
  const taken = plan ? fieldsTaken(plan) : [];
  const absent = taken.filter(({ name }) => !Object.hasOwn(args, name));
  const missing = absent.filter(({ isOptional }) => !isOptional).map(({ name }) => `"${name}"`);
  if (missing.length > 0) throw new WrongCall(`expected the argument${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`);
  const long = longNameError(Object.keys(args), 'body');
  if (long) throw new WrongCall(long.message);
  const fields = recordOf(args, jsonOf(args)).fields;
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

import type { ErrorCode } from './error-code.ts';
import type { FailureClass } from './failure.ts';
import type { SourceName } from './lookups/sources.ts';
import type { ToolProgress } from './tools/tools.ts';

/** The way a run ended. */
export type Ending =
  | 'complete'
  | 'interrupted'
  | 'max-errors'
  | 'max-credits'
  | 'on-error-stop'
  | 'unreachable'
  | 'same-failure'
  | 'workers-lost'
  | 'no-workers'
  | 'refused-credential';

/** The code of a message of an event; undefined for a message on which no decision depends. */
interface EventCode {
  readonly code?: ErrorCode | undefined;
  readonly details?: object | undefined;
}

/** A failure as events and summaries show it. */
export interface FailureReport extends EventCode {
  /** The node's id; absent when the record could not be read or written. */
  readonly node: string | undefined;
  readonly class: FailureClass;
  readonly status: number | undefined;
  readonly message: string;
  readonly attempts: number;
}

/** The source of an answer that needed no request: the cache, or an equal request of another record that was in flight. */
export type HitSource = 'cached' | 'in-flight';

/** A page before the last with fewer items than the offset grows by: items in between may be missing. */
export interface ShortPage {
  /** From 1. */
  readonly page: number;
  readonly items: number;
  readonly size: number;
}

/** The result of one lookup. */
export interface LookedUp {
  /** The lookup, as the summary names it. */
  readonly lookup: string;
  readonly match: boolean;
  /** The question, if something else fits as well; undefined if only this answer fits. */
  readonly ambiguous?: string | undefined;
  /** The question, if the answer is doubtful for another reason; undefined if it is not. */
  readonly doubtful?: string | undefined;
  /** The country of the record that cannot be read and is ignored; undefined if it was read, or there is none. */
  readonly unknownCountry?: string | undefined;
  /** Fields of a match that have no value; undefined if every match has values for all fields. */
  readonly lacking?: readonly string[];
  /** The maximum at which the answer was cut off; undefined if it is whole. */
  readonly cutOffAt?: number | undefined;
  /** True if the nearest point may be one of those that were cut off. */
  readonly hidesNearest?: boolean;
  /** The sources that have answered. */
  readonly sources: readonly SourceName[];
}

/** Everything that happens in a run. */
export type Event =
  | { readonly type: 'run-started'; readonly flow: string; readonly input: string; readonly output: string; readonly errors: string }
  | {
      readonly type: 'call-done';
      readonly record: number;
      readonly node: string;
      readonly attempts: number;
      /** The time of the whole call, with its waits and retries. */
      readonly ms: number;
      /** The time of the attempt that succeeded; undefined if data on this machine answered. */
      readonly responseMs?: number;
    }
  | {
      readonly type: 'cache-hit';
      readonly record: number;
      readonly node: string;
      readonly source: HitSource;
      /** The credits that the call would have cost. */
      readonly credits: number;
    }
  | ({ readonly type: 'call-retried'; readonly record: number; readonly waitMs: number } & FailureReport)
  /** `status`: of the failed answer that paused the gate; undefined if a success said that the rate limit is used up. */
  | { readonly type: 'gate-paused'; readonly gate: string; readonly status: number | undefined; readonly waitMs: number }
  | ConcurrencyEvent
  | ({ readonly record: number; readonly node: string } & NodeEvent)
  | ToolServerEvent
  | ({ readonly type: 'record-passed-through'; readonly record: number } & FailureReport)
  | { readonly type: 'record-done'; readonly record: number; readonly rows: number }
  /** A record of a flow with a filter ended without a row. */
  | { readonly type: 'record-filtered'; readonly record: number }
  /** The rows of an earlier run were taken over. `isFiltered`: as in `record-filtered`. */
  | { readonly type: 'record-unchanged'; readonly record: number; readonly rows: number; readonly isFiltered: boolean }
  | ({ readonly type: 'record-failed'; readonly record: number } & FailureReport)
  /** The run ended when this record was finished and an earlier one was not: the next run writes it. `isNew` is false for a record that was parked before. */
  | { readonly type: 'record-parked'; readonly record: number; readonly isNew: boolean }
  | ({ readonly type: 'stopping'; readonly ending: Ending; readonly reason: string } & EventCode)
  | { readonly type: 'run-ended'; readonly ending: Ending; readonly ms: number };

/** A change of the number of requests that may be in flight, where the run finds it. */
export interface ConcurrencyEvent {
  readonly type: 'concurrency';
  /** The node or connection whose requests are counted. */
  readonly gate: string;
  /** Absent at the start. */
  readonly from?: number;
  readonly to: number;
  /**
   * `fast`: answers stay as fast as they were. `slow`: they have become slower. `no-effect`: fewer requests did not make them faster.
   * `refused`: a 429, a 503, a timeout or a refused connection.
   */
  readonly reason: 'start' | 'fast' | 'slow' | 'no-effect' | 'refused';
  /** The worker that found it; absent in a run without workers. */
  readonly worker?: number;
}

/** An event that a node reports; the engine adds the record and the node's id. */
export type NodeEvent =
  /** For each path of a map, true if it was found. `isPage`: the answer is a page, one of several of the record. */
  | { readonly type: 'mapped'; readonly paths: readonly string[]; readonly found: readonly boolean[]; readonly isPage?: true }
  | ({ readonly type: 'page-short' } & ShortPage)
  /** A success whose body holds a list of errors beside its data, at a node without `fail_when`. */
  | { readonly type: 'errors-beside-data' }
  /** Fields that a set node should rename and the record does not have. */
  | { readonly type: 'not-renamed'; readonly fields: readonly string[] }
  | ({ readonly type: 'looked-up' } & LookedUp)
  /** A model's answer. `cost`: in the unit of the node's price; undefined without one. */
  | { readonly type: 'tokens'; readonly input: number; readonly output: number; readonly cost: number | undefined }
  | ({ readonly type: 'tool-progress'; readonly tool: string } & ToolProgress);

/** An event of an MCP server that belongs to no record. */
export type ToolServerEvent = { readonly connection: string } & (
  | { readonly type: 'server-started'; readonly server: string; readonly protocol: string; readonly tools: number }
  | { readonly type: 'server-lost'; readonly reason: string }
  | { readonly type: 'server-log'; readonly level: string; readonly logger: string | undefined; readonly message: string }
  | { readonly type: 'server-tools'; readonly tools: number }
);

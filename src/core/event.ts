import type { ErrorCode } from './error-code.ts';
import type { FailureClass } from './failure.ts';
import type { ToolProgress } from './tools.ts';

export const endings = [
  'complete',
  'pilot',
  'interrupted',
  'max-errors',
  'max-credits',
  'disk-full',
  'on-error-stop',
  'unreachable',
  'same-failure',
  'workers-lost',
  'no-workers',
  'refused-credential',
] as const;

export type Ending = (typeof endings)[number];

interface EventCode {
  readonly code?: ErrorCode;
  readonly details?: object;
}

/** A failure in the form that events and summaries contain. */
export interface FailureReport extends EventCode {
  /** The id of the node that failed; undefined if the record could not be read or written. */
  readonly node: string | undefined;
  readonly class: FailureClass;
  readonly status: number | undefined;
  readonly message: string;
  readonly attempts: number;
}

/** A step of a `first` node that can only fail. */
export type FailedStep = Pick<FailureReport, 'class' | 'status'> & { readonly node: string };

/** A step that a `first` node has asked for a record. */
export interface AskedStep {
  readonly step: string;
  readonly credits: number;
  /** In the unit of the node's price; undefined if it has no price. */
  readonly cost?: number;
  /** Undefined if the step did not fail. */
  readonly failure?: Pick<FailureReport, 'class' | 'status' | 'message'>;
}

/** No request was sent: the response is in the cache, or an identical request is already in flight for another record. */
export type HitSource = 'cached' | 'in-flight';

/** A page before the last one with fewer items than the offset step (the distance to the next page). Items might be missing. */
export interface ShortPage {
  /** The 1-based number of the page. */
  readonly page: number;
  readonly items: number;
  readonly size: number;
}

/** A sign that more pages of a list follow an answer. */
export interface MorePages {
  /** The part of the answer that is the sign, such as `data.has_more`. */
  readonly sign: string;
  /** The line for the node that reads all pages, as YAML. */
  readonly paginate: string;
}

/** The result of one lookup, as an event reports it. */
export interface LookedUp {
  /** The name under which the summary counts the lookup. */
  readonly lookup: string;
  readonly match: boolean;
  /** The query, if more than one answer fits it. */
  readonly ambiguous?: string;
  /** The query, if its answer is doubtful for a reason other than ambiguity; undefined if the answer is not doubtful. */
  readonly doubtful?: string;
  /** The record's country, if it was ignored because it cannot be recognized; undefined otherwise. */
  readonly unknownCountry?: string;
  /** Names of fields that are empty because the match has no value for them; undefined if there are none. */
  readonly lacking?: readonly string[];
  /** The maximum number of results, if the rest was cut off. */
  readonly cutOffAt?: number;
  /** True if the nearest point might be among the results that were cut off. */
  readonly hidesNearest?: boolean;
  readonly sources: readonly string[];
}

export type Event =
  | { readonly type: 'run-started'; readonly flow: string; readonly input: string; readonly output: string; readonly errors: string }
  | {
      readonly type: 'call-done';
      readonly record: number;
      readonly node: string;
      readonly attempts: number;
      /** Duration of the whole call in ms, including waits and retries. */
      readonly ms: number;
      /** Duration of the successful attempt in ms; undefined if the response came from local data. */
      readonly responseMs?: number;
    }
  | {
      /** A call failed: no further attempt follows. */
      readonly type: 'call-failed';
      readonly record: number;
      readonly node: string;
      readonly attempts: number;
      /** Duration of the last attempt in ms; undefined if the response came from local data. */
      readonly responseMs?: number;
    }
  | {
      readonly type: 'cache-hit';
      readonly record: number;
      readonly node: string;
      readonly source: HitSource;
      /** The credits that the call would have cost if it had been sent. */
      readonly credits: number;
    }
  /**
   * `used`: a kept answer of an earlier run replaced the request. `kept`: later runs can use the answer to the request. `secret` and `full`:
   * they cannot, because of a secret in it, or because the file of answers is full.
   */
  | { readonly type: 'answer-kept'; readonly record: number; readonly node: string; readonly as: 'used' | 'kept' | 'secret' | 'full' }
  | ({ readonly type: 'call-retried'; readonly record: number; readonly waitMs: number } & FailureReport)
  /**
   * A gate (the rate limiter of an API) was paused. `status` is the status of the failed response that caused the pause. It is undefined if
   * a successful response said that the rate limit is used up.
   */
  | { readonly type: 'gate-paused'; readonly gate: string; readonly status: number | undefined; readonly waitMs: number }
  /**
   * A server has refused a call because calls came too fast, and the gate goes on at a pace that it learns from the refusals. `learned` is
   * the number of calls per second that the server accepts; undefined as long as it is not known.
   */
  | {
      readonly type: 'call-refused';
      readonly gate: string;
      readonly status: number | undefined;
      readonly learned: number | undefined;
      /** Undefined in a run without workers. */
      readonly worker?: number;
    }
  | ConcurrencyEvent
  /**
   * An attempt of a node with `on_error: keep` got no answer, and no earlier attempt at this origin did. `origin-answered` is the first
   * answer from an origin. Both are reported only by flows with such nodes, and by each process for itself.
   */
  | ({ readonly type: 'origin-unanswered'; readonly record: number; readonly origin: string } & FailureReport)
  | { readonly type: 'origin-answered'; readonly origin: string }
  | ({ readonly record: number; readonly node: string } & NodeEvent)
  | ToolServerEvent
  | ({ readonly type: 'record-passed-through'; readonly record: number } & FailureReport)
  | { readonly type: 'record-done'; readonly record: number; readonly rows: number }
  /** A record ended without a row in a flow that filters records. */
  | { readonly type: 'record-filtered'; readonly record: number }
  /** The rows of the record were copied from an earlier run. `isFiltered` is true if the earlier run counted the record as filtered. */
  | { readonly type: 'record-unchanged'; readonly record: number; readonly rows: number; readonly isFiltered: boolean }
  | ({ readonly type: 'record-failed'; readonly record: number } & FailureReport)
  /**
   * The run ended after this record was finished, but before an earlier record was. The record's rows are kept (parked), and the next run
   * writes them. `isNew` is false if an earlier run had already parked the record.
   */
  | { readonly type: 'record-parked'; readonly record: number; readonly isNew: boolean }
  | ({ readonly type: 'stopping'; readonly ending: Ending; readonly reason: string; readonly step?: FailedStep } & EventCode)
  | { readonly type: 'run-ended'; readonly ending: Ending; readonly ms: number };

/** A change in the maximum number of requests in flight, in a run that adapts this maximum to the server. */
export interface ConcurrencyEvent {
  readonly type: 'concurrency';
  /** The node or connection whose requests in flight are limited. */
  readonly gate: string;
  /** Undefined at the start of the run. */
  readonly from?: number;
  readonly to: number;
  /**
   * The reason for the change. `fast`: response times have not risen. `slow`: response times have risen. `no-effect`: fewer requests did
   * not make response times shorter. `refused`: a 503, a timeout or a refused connection.
   */
  readonly reason: 'start' | 'fast' | 'slow' | 'no-effect' | 'refused';
  readonly worker?: number;
}

/** An event that a node reports. The engine adds the record number and the node's id. */
export type NodeEvent =
  /**
   * A response was mapped to fields. For each path of the map, `found` is true if the path led to a value. `empty` has the paths that led
   * only to values such as null, and is missing without any. `isPage` is true if the response is one of several pages for the record.
   */
  | {
      readonly type: 'mapped';
      readonly paths: readonly string[];
      readonly found: readonly boolean[];
      readonly empty?: readonly string[];
      readonly isPage?: true;
    }
  | ({ readonly type: 'page-short' } & ShortPage)
  /** An answer shows that more pages of its list follow, but the node reads only the first page. Reported once for each node. */
  | ({ readonly type: 'more-pages' } & MorePages)
  /**
   * The first page of a list has `paginate.path`, or lacks it, so that it is taken for the only page. Each is reported once for each node,
   * and by each process for itself.
   */
  | { readonly type: 'next-path'; readonly path: string; readonly found: boolean }
  /** A successful response contains both data and a list of errors, and its node has no `fail_when` to judge it. */
  | { readonly type: 'errors-beside-data' }
  /** A set node was meant to rename fields that the record does not have. */
  | { readonly type: 'not-renamed'; readonly fields: readonly string[] }
  /** A record breaks these rules of a check node. */
  | { readonly type: 'rules-broken'; readonly rules: readonly string[] }
  /** A record was looked up in the file of a join node. */
  | { readonly type: 'joined'; readonly found: boolean }
  /**
   * A `first` node has asked these steps for a record, in this order. With `found`, the last of them made the condition true; with `known`
   * it was true before. With `failed`, the failure of the record ended the search.
   */
  | { readonly type: 'searched'; readonly asked: readonly AskedStep[]; readonly result: 'known' | 'found' | 'not-found' | 'failed' }
  | ({ readonly type: 'looked-up' } & LookedUp)
  /** A language model answered. `cost` is in the unit of the node's price; undefined if the node has no price. */
  | { readonly type: 'tokens'; readonly input: number; readonly output: number; readonly cost: number | undefined }
  /** The answer of a language model did not fit the schema, so the question was asked and paid again. */
  | { readonly type: 'asked-again' }
  | ({ readonly type: 'tool-progress'; readonly tool: string } & ToolProgress);

/** An event of an MCP server that does not belong to any record. */
export type ToolServerEvent = { readonly connection: string } & (
  | { readonly type: 'server-started'; readonly server: string; readonly protocol: string; readonly tools: number }
  | { readonly type: 'server-lost'; readonly reason: string }
  | { readonly type: 'server-log'; readonly level: string; readonly logger: string | undefined; readonly message: string }
  | { readonly type: 'server-tools'; readonly tools: number }
);

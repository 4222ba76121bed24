import type { JsonObject } from './value/value.ts';

/** A request that is answered from local data, without a server, rate limit or retries. */
export interface LookupRequest {
  readonly kind: 'lookup';
  readonly lookup: string;
  readonly query: object;
  readonly completion?: Completion<LookupRequest>;
}

export interface LookupAnswer {
  readonly kind: 'lookup';
  readonly body: JsonObject;
}

export interface Lookups {
  /** Synchronous, except for the first lookup of each kind, which loads the data. Throws an AutomateError if the data cannot be read. */
  find(request: LookupRequest): LookupAnswer | Promise<LookupAnswer>;
}

/** A lookup whose answer completes a request. It is made before the request is sent. */
export interface Completion<Request> {
  readonly lookup: LookupRequest;
  readonly sought: string;
  /** Returns the complete request; undefined if nothing was found, so that no request is sent. */
  request(found: JsonObject): Request | undefined;
}

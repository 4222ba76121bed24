/** One request to one origin: signed, and without its redirects. */
export interface WireRequest {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** In ms on the monotonic clock. */
  readonly deadlineMs: number;
  /** The limit that the deadline was computed from, for messages. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Hosts inside the network that may be reached, if the flow does not name the host itself. Absent if it does: then any may. */
  readonly allowHosts?: readonly string[] | undefined;
}

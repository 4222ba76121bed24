/** One request to one origin, signed, without redirects. */
export interface Hop {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  /** The limit that the deadline comes from, for the message. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Set when the flow does not name the host: addresses inside the network are refused but for these hosts. */
  readonly allowHosts?: readonly string[] | undefined;
}

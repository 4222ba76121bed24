/** The clocks of the server. */
export interface KeyClock {
  /** Ms of a monotonic clock. */
  now(): number;
  /** Ms of the wall clock. */
  wallNow(): number;
}

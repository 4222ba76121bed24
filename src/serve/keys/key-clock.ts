/** The clocks of the server. */
export interface KeyClock {
  /** Ms of a clock that is never set. */
  now(): number;
  /** Ms of the wall clock. */
  wallNow(): number;
}

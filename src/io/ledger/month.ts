/** A calendar month in UTC, such as 2026-11, and when it ends. */
export interface Month {
  readonly name: string;
  readonly endMs: number;
}

/** The month of a moment. */
export function monthOf(wallMs: number): Month {
  const date = new Date(wallMs);
  return { name: date.toISOString().slice(0, 7), endMs: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) };
}

/**
 * The details of every error that someone decides by, or adds a way out to, by its code. `cli/advice.ts` has the options to type for them,
 * `serve/http/advice.ts` the fields to send.
 */
export interface ErrorDetails {
  /** The value of an option is wrong. `option`: its name in camel case, as in `inFormat`. */
  readonly 'invalid-option': { readonly option: string };
  /** The run that is to be resumed is complete, or never began. */
  readonly 'nothing-to-resume': { readonly out: string };
  /** The test of a connection failed. `part`: the part that is to blame; undefined if it is not known. */
  readonly 'connection-failed': { readonly part?: string; readonly checks: readonly string[] };
  /** The input could not be read to its end. The records before are done: `records` of the input, `written` and `failed` of them. */
  readonly 'input-broken': {
    readonly records: number;
    readonly written: number;
    readonly failed: number;
    readonly files: { readonly out: string; readonly errors: string | undefined };
  };
  /** The output could not be written to its end. The records before are done. */
  readonly 'output-broken': { readonly records: number };
  /** A connection of this name is saved already. */
  readonly 'connection-exists': { readonly connection: string };
}

/** The code of an error. */
export type ErrorCode = keyof ErrorDetails;

/** A code with its details. */
export type ErrorFacts = { readonly [Code in ErrorCode]: { readonly code: Code; readonly details: ErrorDetails[Code] } }[ErrorCode];

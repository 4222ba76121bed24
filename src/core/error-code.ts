import type { RunOptionName } from './run-options.ts';

type None = Readonly<Record<string, never>>;

export type OutputRole = 'out' | 'errors' | 'events' | 'summary' | 'report' | 'gone';

export type InputHint =
  | 'other-encoding'
  | 'not-this-encoding'
  | 'utf-8'
  | 'utf-16'
  | 'gzip'
  | 'ndjson'
  | 'json'
  | 'csv'
  | 'xlsx'
  | 'other-header'
  | 'other-input'
  | 'escape'
  | 'trim';

/** `open`: unlock the backend that stores the secret. `other-hosts`: set it for other hosts. `command`: try its command. */
export type CredentialRemedy = 'store' | 'renew' | 'other-hosts' | 'open' | 'command';

/** Details are used for decisions and for advice: `cli/advice.ts` adds the options to type, `serve/advice.ts` the fields to send. */
export interface ErrorDetails {
  /** `option` is in camel case, as in `inFormat`. `entry` is the wrong name in an option of names and values. */
  readonly 'invalid-option': { readonly option: string; readonly entry?: string };

  /** A flow file was passed where a file of tests is expected. `tests`: the tests file of that flow; undefined if it has none. */
  readonly 'flow-for-tests': { readonly flow: string; readonly tests: string | undefined };

  /** A variable of the flow has no value. `isOpen` is true if a caller of the flow may set the variable. */
  readonly 'variable-missing': { readonly variable: string; readonly isOpen: boolean };

  // Errors about the input.
  /** `line` is undefined if the mistake is on no particular line. `records` is the path of the list of records in a JSON object. */
  readonly 'input-unreadable': {
    readonly line: number | undefined;
    readonly hint: InputHint | undefined;
    readonly records?: string;
  };
  /** The records before the mistake are finished: `records` were read, of which `written` were written and `failed` failed. */
  readonly 'input-broken': {
    readonly records: number;
    readonly written: number;
    readonly failed: number;
    readonly files: { readonly out: string; readonly errors: string | undefined };
  };
  /** The input was overwritten or cut off while it was read, so that the records might be a mixture of its old and new content. */
  readonly 'input-changed': None;
  /** The format cannot be derived from the file name of the input or output. */
  readonly 'unknown-format': { readonly of: 'in' | 'out'; readonly formats: readonly string[] };
  /** The first line of an NDJSON file is a list of records instead of a single record. */
  readonly 'list-of-records': None;
  /** The first line of an NDJSON file begins an object that continues on the next line. */
  readonly 'object-over-lines': None;
  /** The first line of an NDJSON file cannot be JSON, because it begins with another character. */
  readonly 'no-json-line': None;
  /** A field is unknown, and the name of the table's only column contains this delimiter. */
  readonly 'other-delimiter': { readonly delimiter: string };
  /** A field is unknown, and the table's only column has a name of several words, such as the title of a report. */
  readonly 'title-above-header': None;

  // Errors about the output.
  /** The records written before the error are finished. */
  readonly 'output-broken': { readonly records: number };
  readonly 'output-exists': { readonly of: 'out' | 'errors' };
  /** A file cannot be written at its path. `isRemovable` is true if the existing file at that path may be deleted. */
  readonly 'place-refused': { readonly of: OutputRole; readonly isRemovable?: boolean };
  /** `out` is the output whose kept answers are damaged. */
  readonly 'answers-damaged': { readonly out: string };
  readonly 'being-written': { readonly of: 'out' | 'errors' | 'gone' | 'port' };
  readonly 'shared-stdout': { readonly of: readonly OutputRole[] };
  /** The run to be resumed is complete, or never began. */
  readonly 'nothing-to-resume': { readonly out: string };
  /** An earlier run did not finish the output. */
  readonly 'unfinished-run': { readonly out: string; readonly isRetry: boolean };
  /** The journal belongs to another run. `isReplacing` is true if that run keeps the old output until it is done. */
  readonly 'other-run': { readonly isReplacing: boolean; readonly isComplete?: boolean };
  readonly 'journal-damaged': None;
  readonly 'output-changed': None;

  /** Rows of the existing output cannot be reused, because another program has written them or their origin is unknown. */
  readonly 'update-refused': None;
  /** The old output lacks a column that identifies its records, or cannot be read. */
  readonly 'gone-unknown': None;
  /** More records are gone than expected. `allowed` would have let the run replace its output; undefined for an input without records. */
  readonly 'too-many-gone': { readonly allowed: string | undefined };

  /** The port for the metrics of this process is already in use. */
  readonly 'port-taken': None;

  // Limits that end a run.
  /** An option of the run sets the limit. `value` is as on the command line, such as `5%`. */
  readonly 'option-reached': { readonly option: RunOptionName; readonly value: string };
  readonly 'max-credits': { readonly credits: number };
  readonly 'max-cost': { readonly node: string };
  readonly allowance: None;
  readonly quota: None;

  // Errors about requests.
  /** The flow sends or saves files, but no folder for files was specified. */
  readonly 'no-files-folder': None;
  /** The TLS connection failed. `isUnknownAuthority` is true if this machine does not trust the server's certificate authority. */
  readonly tls: { readonly isUnknownAuthority: boolean };
  readonly proxy: None;
  readonly 'unknown-host': None;
  readonly 'plain-http': None;
  /** The URL of a webhook leads to a host inside the private network. */
  readonly 'private-address': None;
  readonly 'no-access-token': {
    readonly server: string;
    /** The error code (RFC 6749, 5.2) that the server returned; undefined if it returned none. */
    readonly error?: string;
  };
  /** A body is not JSON. `reason` says why, without quoting the body. */
  readonly 'not-json': { readonly reason: string };
  /** `unsent` lists the nodes that would add the field, but whose requests are not sent in a preview. */
  readonly 'field-missing': { readonly unsent: readonly string[] };
  /** A node drops the record, so there is nothing to show for it. */
  readonly 'record-dropped': None;

  // Errors about credentials and connections.
  /** `env` is undefined for the default environment. */
  readonly credential: {
    readonly credential: string;
    readonly env?: string;
    readonly remedy?: CredentialRemedy;
    /** The other environments that have the credential. */
    readonly elsewhere?: readonly string[];
    /** True if the credential can be supplied by an environment variable. */
    readonly takesVariable?: boolean;
  };
  /** A person has to log in, for the first time or again. */
  readonly 'login-needed': LoginPlace;
  /** This machine has no backend that can store the secret. `isInKeychain` is true if the secret must stay in the keychain. */
  readonly 'no-place-for-secret': { readonly credential: string; readonly isInKeychain: boolean };
  /** The secret cannot be deleted by the backend that stores it. */
  readonly 'secret-stays': { readonly credential: string; readonly env: string };
  /** `part` is the option that caused the failure, if it is known. */
  readonly 'connection-failed': {
    readonly part?: string;
    readonly checks: readonly string[];
    readonly setting?: ConnectionSetting;
  };
  readonly 'connection-exists': { readonly connection: string };
  readonly 'connection-missing': { readonly connection: string; readonly type: 'http' | 'mcp' };
  readonly 'key-missing': None;
  /** The command that changes an API key was called without a change. */
  readonly 'nothing-to-change': None;
}

export interface LoginPlace {
  readonly connection: string;
  /** Undefined for a saved connection. */
  readonly flow?: string;
  /** Undefined for the default environment. */
  readonly env?: string;
}

/** The setting that might be wrong: the certificate authority, the auth type, or the environment variables of a local MCP server. */
export type ConnectionSetting = 'authority' | 'auth' | 'variables';

export type ErrorCode = keyof ErrorDetails;

export type ErrorFacts = { readonly [Code in ErrorCode]: { readonly code: Code; readonly details: ErrorDetails[Code] } }[ErrorCode];

/** A message with an error code. Other code uses the code to make decisions and to add advice. */
export interface CodedMessage {
  readonly message: string;
  readonly code?: ErrorCode;
  /** Details of the message. Their type depends on the error code (see ErrorDetails). */
  readonly details?: object;
}

export function detailsOf<Code extends ErrorCode>(coded: unknown, code: Code): ErrorDetails[Code] | undefined {
  const found = Object(coded) as Partial<CodedMessage>;
  return found.code === code ? (found.details as ErrorDetails[Code]) : undefined;
}

/** The details of a code that has none. */
type None = Readonly<Record<string, never>>;

/** A file that a run writes, by the option that names it. */
export type OutputRole = 'out' | 'errors' | 'events' | 'summary' | 'report';

/** The mistake that an input which cannot be read points at: its text has another encoding, or it has another format. */
export type InputHint = 'other-encoding' | 'not-this-encoding' | 'utf-16le' | 'utf-16be' | 'gzip' | 'ndjson' | 'json' | 'csv' | 'xlsx';

/**
 * The way out of a problem with a credential: to store it, to set a new secret, to set it again for other hosts, to open the place that
 * has it, as the message says, or to try its command.
 */
export type CredentialRemedy = 'store' | 'renew' | 'other-hosts' | 'open' | 'command';

/**
 * The details of every error that someone decides by, or adds a way out to, by its code. `cli/advice.ts` has the options to type for them,
 * `serve/http/advice.ts` the fields to send.
 */
export interface ErrorDetails {
  /** The value of an option is wrong. `option`: its name in camel case, as in `inFormat`. */
  readonly 'invalid-option': { readonly option: string };

  /** A variable of the flow has no value. `isOpen`: a caller may give one. */
  readonly 'variable-missing': { readonly variable: string; readonly isOpen: boolean };

  // The input.
  /** The input cannot be read. `line`: undefined if the fault has none. `records`: the path of the list of records in an object. */
  readonly 'input-unreadable': {
    readonly line: number | undefined;
    readonly hint: InputHint | undefined;
    readonly records?: string | undefined;
  };
  /** The records before the fault of an input are done: `records` of the input, `written` and `failed` of them. */
  readonly 'input-broken': {
    readonly records: number;
    readonly written: number;
    readonly failed: number;
    readonly files: { readonly out: string; readonly errors: string | undefined };
  };
  /** The name of the input or of the output does not tell its format. */
  readonly 'unknown-format': { readonly of: 'in' | 'out'; readonly formats: readonly string[] };
  /** The first line of NDJSON is a list of records. */
  readonly 'list-of-records': None;
  /** The first line of NDJSON begins an object that goes on in the next line. */
  readonly 'object-over-lines': None;
  /** A field is not known, and the table has one column with this delimiter in its name. */
  readonly 'other-delimiter': { readonly delimiter: string };

  // The output.
  /** The output could not be written to its end. The records before are done. */
  readonly 'output-broken': { readonly records: number };
  /** The output or the errors file exists. */
  readonly 'output-exists': { readonly of: 'out' | 'errors' };
  /** A file cannot be written where it is. `isRemovable`: the file there may be removed. */
  readonly 'place-refused': { readonly of: OutputRole; readonly isRemovable?: boolean };
  /** Another process is writing the file. */
  readonly 'being-written': { readonly of: 'out' | 'errors' | 'port' };
  /** Several files are stdout. */
  readonly 'shared-stdout': { readonly of: readonly OutputRole[] };
  /** The run that is to be resumed is complete, or never began. */
  readonly 'nothing-to-resume': { readonly out: string };
  /** An earlier run did not finish the output. */
  readonly 'unfinished-run': { readonly out: string; readonly isRetry: boolean };
  /** The run to be resumed is another one. `isReplacing`: it leaves the old output as it is. */
  readonly 'other-run': { readonly isReplacing: boolean; readonly isComplete?: boolean };
  /** The journal of a run is damaged. */
  readonly 'journal-damaged': None;
  /** The output of a run was changed after it was written. */
  readonly 'output-changed': None;

  /** The rows of the output cannot be taken over: they are not known, or something else has made them. */
  readonly 'update-refused': None;

  // Limits that end a run.
  /** More records have failed than the run allows: a number, or a share such as `5%`. */
  readonly 'max-errors': { readonly limit: string };
  /** The credits that the run may spend are used up. */
  readonly 'max-credits': { readonly credits: number };
  /** The money that a node may spend is used up. */
  readonly 'max-cost': { readonly node: string };
  /** The allowance of the month is used up. */
  readonly allowance: None;
  /** The quota of the key is used up. */
  readonly quota: None;

  // Requests.
  /** The flow sends or saves files, and there is no folder for them. */
  readonly 'no-files-folder': None;
  /** The TLS connection failed. `isUnknownAuthority`: the authority that has signed the server's certificate is not known here. */
  readonly tls: { readonly isUnknownAuthority: boolean };
  /** The proxy refused the connection. */
  readonly proxy: None;
  /** A URL begins with http://. */
  readonly 'plain-http': None;
  /** A webhook's address is inside the network. */
  readonly 'private-address': None;
  /** The token server gave no access token. */
  readonly 'no-access-token': {
    readonly server: string;
    /** The error of RFC 6749, 5.2, that the server names; undefined if it names none. */
    readonly error?: string;
  };
  /** A body is not JSON. `reason`: the reason without an excerpt of the body. */
  readonly 'not-json': { readonly reason: string };
  /** A record lacks a field of its request. `unsent`: the nodes that would make it, which send nothing here. */
  readonly 'field-missing': { readonly unsent: readonly string[] };
  /** A node drops the record. */
  readonly 'record-dropped': None;

  // Credentials and connections.
  /** A credential is missing or cannot be used. `env`: undefined for the default environment. */
  readonly credential: {
    readonly credential: string;
    readonly env?: string | undefined;
    readonly remedy?: CredentialRemedy | undefined;
    /** The environments that have the credential, if this one does not. */
    readonly elsewhere?: readonly string[];
    /** True if setting its variable helps. */
    readonly takesVariable?: boolean;
  };
  /** Someone has to log in, for the first time or again. */
  readonly 'login-needed': LoginPlace;
  /** No place on this machine can store a secret. `isInKeychain`: it is meant to stay in the keychain. */
  readonly 'no-place-for-secret': { readonly credential: string; readonly isInKeychain: boolean };
  /** The place of a secret cannot delete it. */
  readonly 'secret-stays': { readonly credential: string; readonly env: string };
  /** The test of a connection failed. `part`: the part that is to blame; undefined if it is not known. */
  readonly 'connection-failed': {
    readonly part?: string;
    readonly checks: readonly string[];
    readonly setting?: ConnectionSetting | undefined;
  };
  /** A connection of this name is saved already. */
  readonly 'connection-exists': { readonly connection: string };
  /** No connection of this name exists. */
  readonly 'connection-missing': { readonly connection: string; readonly type: 'http' | 'mcp' };
  /** No API key of this name exists. */
  readonly 'key-missing': None;
  /** A key of which nothing is to be changed. */
  readonly 'nothing-to-change': None;
}

/** A connection for which someone logs in. */
export interface LoginPlace {
  readonly connection: string;
  /** The file of the flow that has it; undefined for a saved connection. */
  readonly flow?: string | undefined;
  /** Undefined for the default environment. */
  readonly env?: string | undefined;
}

/** The setting of a connection that may be wrong: the certificate authority, the type of its auth, or the variables of its program. */
export type ConnectionSetting = 'authority' | 'auth' | 'variables';

/** The code of an error. */
export type ErrorCode = keyof ErrorDetails;

/** A code with its details. */
export type ErrorFacts = { readonly [Code in ErrorCode]: { readonly code: Code; readonly details: ErrorDetails[Code] } }[ErrorCode];

/** A message, and the code by which others decide and find the way out. */
export interface CodedMessage {
  readonly message: string;
  /** Undefined if no decision depends on it. */
  readonly code?: ErrorCode | undefined;
  /** The details of the code. */
  readonly details?: object | undefined;
}

/** The details of a message with this code; undefined for every other value. */
export function detailsOf<Code extends ErrorCode>(coded: unknown, code: Code): ErrorDetails[Code] | undefined {
  const found = Object(coded) as Partial<CodedMessage>;
  return found.code === code ? (found.details as ErrorDetails[Code]) : undefined;
}

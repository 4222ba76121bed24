/** A file that a form sends. */
export interface FilePart {
  readonly name: string;
  /** As the record has it: below the folder for files. */
  readonly file: string;
  /** The name that the server gets; undefined for the file's own. */
  readonly fileName: string | undefined;
  /** Undefined for the type that its ending stands for. */
  readonly contentType: string | undefined;
}

/** A text of a form that sends files. */
export interface TextPart {
  readonly name: string;
  readonly value: string;
}

/** A part of a form that sends files: multipart/form-data (RFC 7578). */
export type FormPart = TextPart | FilePart;

/** The file that the body of an answer goes to. */
export interface Save {
  /** Below the folder for files. */
  readonly to: string;
  /** True if it may replace a file. */
  readonly replace: boolean;
  /** The record and the node that save it, by a UUID that a resumed run has again; undefined before the call begins. */
  readonly owner?: string | undefined;
  /** True for an answer whose body is saved; any other is read as usual. */
  takes(answer: AnswerHead): boolean;
}

/** The beginning of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** A header's value by its lower-case name. */
  header(name: string): string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A file that was saved. */
export interface SavedFile {
  /** As `to` says it. */
  readonly path: string;
  readonly bytes: number;
}

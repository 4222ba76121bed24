/** A file that is sent as part of a form. */
export interface FilePart {
  readonly name: string;
  /** The path of the file, as the record states it, relative to the folder for files. */
  readonly file: string;
  /** The file name that the server receives; undefined to send the file's actual name. */
  readonly fileName: string | undefined;
  /** The content type; undefined if it follows from the file extension. */
  readonly contentType: string | undefined;
}

/** A text field in a form that sends files. */
interface TextPart {
  readonly name: string;
  readonly value: string;
}

/** One part of a form that sends files as multipart/form-data (RFC 7578). */
export type FormPart = TextPart | FilePart;

/** The file in which the body of a response is saved. */
export interface Save {
  /** The path of the file, relative to the folder for files. */
  readonly to: string;
  /** True if an existing file may be replaced. */
  readonly replace: boolean;
  /** A UUID for the record and node that save the file. It is the same in a resumed run, and undefined before the call begins. */
  readonly owner?: string | undefined;
  /** True for a response whose body is saved to the file. The body of any other response is read into memory. */
  takes(answer: AnswerHead): boolean;
}

/** The paths of the files that the records of a run save. Each path belongs to one record. */
export interface SaveNames {
  /**
   * Claims a path for a record. Resolves to `own` if this record has already saved a file there, and to `taken` if another record has
   * claimed the path.
   */
  claim(path: string, owner: string): Promise<'free' | 'own' | 'taken'>;
  /** Releases the claim on a path, so that another record can claim it. */
  release(path: string): void;
  /**
   * Notes in the run's list of files that a file is about to be created at a path. A resumed run then knows which record saved it. `bytes`
   * is the size of the file.
   */
  note(path: string, owner: string, bytes: number): Promise<void>;
  /** Undoes `note`, because the file was not created at its path after all. */
  takeBack(path: string): Promise<void>;
}

/** The status and headers of a response. */
export interface AnswerHead {
  readonly status: number;
  /** Returns the value of the header with this lower-case name; undefined if the response has no such header. */
  header(name: string): string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A file that has been saved. */
export interface SavedFile {
  /** The path of the file, relative to the folder for files. */
  readonly path: string;
  readonly bytes: number;
}

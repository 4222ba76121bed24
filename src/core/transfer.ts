export interface FilePart {
  readonly name: string;
  /** The path of the file, as the record states it, relative to the folder for files. */
  readonly file: string;
  /** Undefined to send the file's actual name. */
  readonly fileName: string | undefined;
  /** The content type; undefined if it follows from the file extension. */
  readonly contentType: string | undefined;
}

interface TextPart {
  readonly name: string;
  readonly value: string;
}

/** One part of a form that sends files as multipart/form-data (RFC 7578). */
export type FormPart = TextPart | FilePart;

export interface Save {
  /** The path of the file, relative to the folder for files. */
  readonly to: string;
  readonly replace: boolean;
  /** A UUID for the record and node that save the file. It is the same in a resumed run, and undefined before the call begins. */
  readonly owner?: string;
  /** The body of any other response is read into memory. */
  takes(answer: AnswerHead): boolean;
}

export interface SaveNames {
  /** `own` if this record has already saved a file there, `taken` if another record has claimed the path. */
  claim(path: string, owner: string): Promise<'free' | 'own' | 'taken'>;
  release(path: string): void;
  /** Notes that a file is about to be created, so that a resumed run knows which record saved it. `bytes` is its size. */
  note(path: string, owner: string, bytes: number): Promise<void>;
  /** Undoes `note`, because the file was not created at its path after all. */
  takeBack(path: string): Promise<void>;
}

export interface AnswerHead {
  readonly status: number;
  /** The name is in lower case. */
  header(name: string): string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface SavedFile {
  /** The path of the file, relative to the folder for files. */
  readonly path: string;
  readonly bytes: number;
}

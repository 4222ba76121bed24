import { hash } from 'node:crypto';
import { AutomateError } from '../../core/failure.ts';
import type { Answers, FoundAnswer, Keeping, KeptAnswer, KeptQuestion } from '../../core/ports.ts';
import type { Redactor } from '../../credentials/redact.ts';
import { systemReason } from '../../files/naming-errors.ts';
import { foundAnswer, type StoredAnswer, storedAnswer } from './answer-block.ts';
import { type AnswerSession, AnswersDatabase, bitOf, type FoundPlace } from './answers-database.ts';

/** The settings of a run's answers, which a worker process gets from its run. */
export interface AnswerSettings {
  readonly path: string;
  readonly session: AnswerSession;
  readonly env: string;
  /** Answers that are older are not used; undefined for no maximum. */
  readonly maxAgeMs: number | undefined;
  /** Maximum size of the file. */
  readonly maxBytes: number;
  readonly isReplay: boolean;
}

interface KeptAnswersOptions extends AnswerSettings {
  /** True if several processes use the file at once. */
  readonly isShared: boolean;
  readonly redactor: Redactor;
  wallNow(): number;
  /** Called at most once. */
  warn(message: string): void;
}

/** Longer keys are stored as their hashes. */
const maxKey = 1000;

/** A block is packed as soon as it reaches one of these limits. To find one answer, its whole block is unpacked. */
const blockEnd = { answers: 128, bytes: 64 << 10 };

/** Length of a transaction. */
const turnMs = 3;

/** Maximum number of unpacked blocks in memory. */
const maxBlocks = 4;

/** Longest wait for another worker's transaction, which lasts as long as one turn of its event loop. */
const timeoutMs = 30_000;

export function openAnswersDatabase(path: string): AnswersDatabase {
  try {
    return new AnswersDatabase(path, timeoutMs);
  } catch (error) {
    throw answersError(path, error);
  }
}

function answersError(path: string, error: unknown): AutomateError {
  if (error instanceof AutomateError) return error;
  return new AutomateError('output', `the kept answers in ${path} cannot be used: ${systemReason(error as Error)}`, { cause: error });
}

interface Pending {
  readonly question: KeptQuestion;
  readonly answer: KeptAnswer;
}

/**
 * An answer belongs to a record, and first serves the record with the same number, at the same place: a run over the same input gives the
 * same rows, no matter in which order its requests are made. If that record has none left, it gets the first answer that is left.
 */
export class KeptAnswers implements Answers {
  readonly isReplay: boolean;
  readonly #options: KeptAnswersOptions;
  readonly #database: AnswersDatabase;
  readonly #minAt: number;
  /** The blocks in memory, the last one first: the answers by number, and the first answer to each of their requests by its stored key. */
  #blocks: readonly { readonly answers: readonly StoredAnswer[]; readonly byKey: ReadonlyMap<string, StoredAnswer> }[] = [];
  /** The bits of this part of the run, and of earlier parts, by chunk. */
  readonly #bits = new Map<number, Uint8Array>();
  readonly #earlier = new Map<number, Uint8Array>();
  readonly #dirty = new Set<number>();
  /** The answers of polls under way, by record and place, and by key. */
  readonly #pending = new Map<string, Map<string, Pending>>();
  #turn: StoredAnswer[] = [];
  #tail: StoredAnswer[] = [];
  #tailBytes = 0;
  #bytes: number;
  #next: number | undefined;
  #turnEnd: NodeJS.Timeout | NodeJS.Immediate | undefined;
  /** Resolves when the turn is written. Undefined if nothing waits for it. */
  #written: { readonly promise: Promise<void>; resolve(): void } | undefined;
  #canWrite = true;
  #hasWarned = false;
  #contentOf: ((files: readonly string[]) => Promise<string>) | undefined;

  constructor(options: KeptAnswersOptions, database = openAnswersDatabase(options.path)) {
    this.#options = options;
    this.isReplay = options.isReplay;
    this.#database = database;
    this.#bytes = database.bytes();
    this.#minAt = options.maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : options.wallNow() - options.maxAgeMs;
  }

  /** Sets the function that reads the files of requests. */
  readFilesWith(contentOf: (files: readonly string[]) => Promise<string>): void {
    this.#contentOf = contentOf;
  }

  contentOf(files: readonly string[]): Promise<string> {
    return this.#contentOf?.(files) ?? Promise.resolve(JSON.stringify(files));
  }

  find(question: KeptQuestion): FoundAnswer | undefined {
    try {
      const text = this.#textOf(question);
      const near = text.length <= maxKey ? this.#inBlocks(text, question) : undefined;
      const found = near ?? this.#inDatabase(keyHash(text), question);
      return found && foundAnswer(found);
    } catch (error) {
      throw answersError(this.#options.path, error);
    }
  }

  keep(question: KeptQuestion, answer: KeptAnswer): Keeping {
    if (this.#hasSecret(answer)) return 'secret';
    if (!this.#canWrite || this.#bytes > this.#options.maxBytes) {
      this.#warnOfFull();
      return 'full';
    }
    if (question.use === 'last') {
      const place = placeKey(question);
      const ofPoll = this.#pending.get(place) ?? new Map<string, Pending>();
      this.#pending.set(place, ofPoll.set(question.key, { question, answer }));
      return 'kept';
    }
    return this.#writing(() => this.#add(question, answer)) ? 'kept' : 'full';
  }

  written(): Promise<void> | undefined {
    if (this.#turn.length === 0) return undefined;
    if (!this.#written) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#written = { promise, resolve };
    }
    return this.#written.promise;
  }

  forget({ number }: FoundAnswer): void {
    this.#writing(() => this.#database.remove(number));
  }

  endPoll(record: number, place: string): void {
    const key = placeKey({ record, place });
    const ofPoll = this.#pending.get(key);
    if (!ofPoll) return;
    this.#pending.delete(key);
    this.#writing(() => {
      for (const { question, answer } of ofPoll.values()) this.#add(question, answer);
    });
  }

  /** Also packs what killed processes have left. Workers leave that to their run. */
  async close(isOfWorker = false): Promise<void> {
    try {
      if (!isOfWorker) this.#writing(() => this.#packAll());
      this.#endTurn();
    } finally {
      await this.#database.close(this.#options.isShared && !isOfWorker);
    }
  }

  #textOf({ key }: KeptQuestion): string {
    return `${this.#options.env}\n${key}`;
  }

  /** The usual case: records come in the order in which their answers were kept. Only the first of several equal requests is found here. */
  #inBlocks(key: string, question: KeptQuestion): StoredAnswer | undefined {
    for (const { byKey } of this.#blocks) {
      const answer = byKey.get(key);
      if (!answer || answer.record !== question.record || answer.place !== question.place) continue;
      this.#beginTurn();
      if (!this.#isUsable(answer, question)) continue;
      this.#use(answer, question);
      return answer;
    }
    return undefined;
  }

  #inDatabase(key: Buffer, question: KeptQuestion): StoredAnswer | undefined {
    this.#beginTurn();
    const usable = this.#database.placesOf(key).filter((place) => this.#isUsable(place, question));
    const { record, place } = question;
    const ofRecord = usable.filter((one) => one.record === record);
    const found = ofRecord.find((one) => one.place === place) ?? ofRecord[0] ?? firstOf(usable);
    const answer = found && this.#load(found.number);
    if (answer) this.#use(answer, question);
    return answer;
  }

  #isUsable({ number, record, at }: FoundPlace | StoredAnswer, question: KeptQuestion): boolean {
    const { session } = this.#options;
    if (number > session.lastAnswer || at < this.#minAt) return false;
    if (question.use === 'always') return true;
    const [chunk, byte, mask] = bitOf(number);
    if ((this.#bitsOf(chunk)[byte] as number) & mask) return false;
    if (session.first === session.number || record === question.record) return true;
    return ((this.#earlierBitsOf(chunk)[byte] as number) & mask) === 0;
  }

  #use(answer: StoredAnswer, { use, record, place }: KeptQuestion): void {
    if (use === 'always') return;
    this.#setBit(answer.number);
    if ((answer.record === record && answer.place === place) || !this.#canWrite) return;
    answer.record = record;
    answer.place = place;
    this.#database.move(answer.number, record, place);
  }

  #load(number: number): StoredAnswer | undefined {
    const isIn = (answers: readonly StoredAnswer[]) => answers.find((answer) => answer.number === number);
    for (const { answers } of this.#blocks) {
      const found = isIn(answers);
      if (found) return found;
    }
    const answers = this.#database.blockWith(number);
    const byKey = new Map<string, StoredAnswer>();
    for (const answer of answers) if (answer.nth === 0 && !byKey.has(answer.key)) byKey.set(answer.key, answer);
    this.#blocks = [{ answers, byKey }, ...this.#blocks.slice(0, maxBlocks - 1)];
    return isIn(answers);
  }

  #add(question: KeptQuestion, answer: KeptAnswer): void {
    const { record, place, use } = question;
    const text = this.#textOf(question);
    const hashed = keyHash(text);
    const equal = this.#database.placesOf(hashed);
    const isReplaced = (one: FoundPlace) =>
      use === 'always' || (one.record === record && one.place === place && (use === 'last' || one.at < this.#minAt));
    for (const one of equal) if (isReplaced(one)) this.#database.remove(one.number);
    const nth = equal.filter((one) => one.record === record && one.place === place && !isReplaced(one)).length;
    const isText = text.length <= maxKey && !this.#options.redactor.isIn(text);
    const number = this.#next ?? this.#database.nextNumber();
    this.#next = number + 1;
    const stored = storedAnswer(question, answer, { number, key: isText ? text : `#${hashed.toString('hex')}`, nth });
    this.#database.addPlace(stored, hashed);
    this.#setBit(number);
    this.#turn.push(stored);
  }

  #setBit(number: number): void {
    const [chunk, byte, mask] = bitOf(number);
    const bits = this.#bitsOf(chunk);
    bits[byte] = (bits[byte] as number) | mask;
    this.#dirty.add(chunk);
  }

  #bitsOf(chunk: number): Uint8Array {
    let bits = this.#bits.get(chunk);
    if (!bits) {
      bits = this.#database.bitsOf(this.#options.session.number, chunk);
      this.#bits.set(chunk, bits);
    }
    return bits;
  }

  #earlierBitsOf(chunk: number): Uint8Array {
    let bits = this.#earlier.get(chunk);
    if (!bits) {
      bits = this.#database.earlierBitsOf(this.#options.session, chunk);
      this.#earlier.set(chunk, bits);
    }
    return bits;
  }

  #hasSecret({ response, extra }: KeptAnswer): boolean {
    const { redactor } = this.#options;
    if ('kind' in response) return redactor.isIn(JSON.stringify([response, extra]));
    const { body, headers, redirectedTo } = response;
    // As Latin-1, each byte is one character, so that binary bodies can be searched, too.
    return (
      redactor.isIn(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1')) ||
      redactor.isIn(JSON.stringify([headers, redirectedTo]))
    );
  }

  /** Returns false if nothing can be written any more. The run continues, because its requests have been paid for. */
  #writing(act: () => void): boolean {
    if (!this.#canWrite) return false;
    try {
      this.#beginTurn();
      act();
      return true;
    } catch (error) {
      this.#giveUp(error as Error);
      return false;
    }
  }

  /**
   * Everything of a few milliseconds is one transaction, and records whose answers are in it wait for its end before they continue. So if
   * the process is killed, only answers that are in flight are missing.
   */
  #beginTurn(): void {
    if (this.#turnEnd !== undefined || !this.#canWrite) return;
    this.#database.begin();
    // Other processes wait while a transaction is open, so it is short if there are some.
    if (!this.#options.isShared) {
      this.#turnEnd = setTimeout(() => this.#endTurn(), turnMs);
      return;
    }
    this.#turnEnd = setImmediate(() => this.#endTurn());
    // Other processes may have used up answers, and added some, since the last turn.
    this.#bits.clear();
    this.#next = undefined;
  }

  #endTurn(): void {
    if (this.#turnEnd === undefined) return;
    this.#clearTurn();
    try {
      for (const chunk of this.#dirty) this.#database.setBits(this.#options.session.number, chunk, this.#bitsOf(chunk));
      this.#dirty.clear();
      this.#writeTurn();
      this.#database.commit();
    } catch (error) {
      this.#giveUp(error as Error);
    }
    this.#written?.resolve();
    this.#written = undefined;
  }

  #clearTurn(): void {
    if (this.#options.isShared) clearImmediate(this.#turnEnd as NodeJS.Immediate);
    else clearTimeout(this.#turnEnd as NodeJS.Timeout);
    this.#turnEnd = undefined;
  }

  /** Each turn writes a block of its own. As soon as there are enough answers, one packed block replaces those. */
  #writeTurn(): void {
    if (this.#turn.length === 0) return;
    const size = this.#database.addBlock(this.#turn, false);
    this.#bytes += size;
    // The numbers of several processes alternate, so the run packs their blocks at its end.
    if (!this.#options.isShared) this.#addToTail(this.#turn);
    this.#turn = [];
  }

  #addToTail(answers: readonly StoredAnswer[]): void {
    for (const answer of answers) {
      this.#tail.push(answer);
      this.#tailBytes += answer.body.length + answer.key.length;
    }
    if (this.#tail.length >= blockEnd.answers || this.#tailBytes >= blockEnd.bytes) this.#packTail();
  }

  #packTail(): void {
    this.#database.pack(this.#tail);
    this.#tail = [];
    this.#tailBytes = 0;
  }

  #packAll(): void {
    this.#writeTurn();
    for (let blocks = this.#database.unpacked(); blocks.length > 0; blocks = this.#database.unpacked()) {
      this.#tail = [];
      this.#tailBytes = 0;
      for (const answers of blocks) this.#addToTail(answers);
      if (this.#tail.length > 0) this.#packTail();
    }
  }

  #giveUp(error: Error): void {
    this.#clearTurn();
    this.#canWrite = false;
    this.#turn = [];
    this.#database.rollback();
    this.#warn(`answers are no longer kept: ${this.#options.path} cannot be written: ${systemReason(error)}`);
  }

  #warnOfFull(): void {
    const { path, maxBytes } = this.#options;
    this.#warn(`answers are no longer kept: ${path} has reached its maximum of ${maxBytes / 1e9} GB`);
  }

  #warn(message: string): void {
    if (!this.#hasWarned) this.#options.warn(message);
    this.#hasWarned = true;
  }
}

function placeKey({ record, place }: Pick<KeptQuestion, 'record' | 'place'>): string {
  return `${record} ${place}`;
}

function keyHash(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'hex').slice(0, 32), 'hex');
}

/** In the order of the records that got them, and not in the order in which they arrived. */
function firstOf(places: readonly FoundPlace[]): FoundPlace | undefined {
  let first: FoundPlace | undefined;
  for (const place of places) if (!first || place.record < first.record) first = place;
  return first;
}

/** Begins a session of a run in the file of its answers. */
export function openAnswers(
  options: Omit<KeptAnswersOptions, 'session'> & { readonly runs: readonly string[] },
): KeptAnswers & { readonly settings: AnswerSettings } {
  const { runs, ...others } = options;
  const database = openAnswersDatabase(options.path);
  try {
    const session = database.beginSession(runs, options.wallNow());
    const { path, env, maxAgeMs, maxBytes, isReplay } = others;
    return Object.assign(new KeptAnswers({ ...others, session }, database), {
      settings: { path, session, env, maxAgeMs, maxBytes, isReplay },
    });
  } catch (error) {
    void database.close();
    throw answersError(options.path, error);
  }
}

/** The number of answers to a request that a run would find kept. */
export class KeptCounter {
  readonly #database: AnswersDatabase;
  readonly #minAt: number;
  readonly #env: string;
  /** Number of answers that the requests so far use up, by request. */
  readonly #used = new Map<string, number>();

  constructor(database: AnswersDatabase, env: string, minAt: number) {
    this.#database = database;
    this.#env = env;
    this.#minAt = minAt;
  }

  /** Counts the request. Returns true if an answer is left for it. */
  has({ key, use }: Pick<KeptQuestion, 'key' | 'use'>): boolean {
    const hashed = keyHash(`${this.#env}\n${key}`);
    const count = this.#database.placesOf(hashed).filter(({ at }) => at >= this.#minAt).length;
    if (use === 'always' || count === 0) return count > 0;
    const name = hashed.toString('latin1');
    const used = this.#used.get(name) ?? 0;
    if (used >= count) return false;
    this.#used.set(name, used + 1);
    return true;
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

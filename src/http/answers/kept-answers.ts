import { AutomateError } from '../../core/failure.ts';
import type { FlowOrigins } from '../../core/field-origins.ts';
import type { Answers, BatchPart, FoundAnswer, Keeping, KeptAnswer, KeptQuestion } from '../../core/ports.ts';
import { bytesText } from '../../core/text/number.ts';
import { orUndefined, type Value } from '../../core/value/value.ts';
import type { Redactor } from '../../credentials/redact.ts';
import { isDamaged, isUnwritable } from '../../files/database.ts';
import { systemReason } from '../../files/naming-errors.ts';
import { type AnswerContent, contentOf, foundAnswer, type StoredAnswer, storedAnswer } from './answer-block.ts';
import { type AnswerSession, AnswersDatabase, batchPlace, bitOf, isFull, type KeptPlace, keyHash, partPlace } from './answers-database.ts';

/** The settings of a run's answers, which a worker process gets from its run. */
export interface AnswerSettings {
  readonly path: string;
  readonly session: AnswerSession;
  readonly env: string;
  /** Answers that are older are not used; undefined for no maximum. */
  readonly maxAgeMs: number | undefined;
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

/** Length of a transaction. Requests whose answers are in it count as in flight until its end. */
const turnMs = { adds: 1, uses: 100 };

const noBody = new Uint8Array();

const maxBlocks = 16;

/** After as many, an answer may be kept twice. */
const maxShared = 100_000;

/** Longest wait for another worker's transaction, which lasts as long as one turn of its event loop. */
const timeoutMs = 30_000;

export function openAnswersDatabase(path: string): AnswersDatabase {
  try {
    return new AnswersDatabase(path, timeoutMs);
  } catch (error) {
    throw answersError(path, error);
  }
}

/** Also opens a file that may only be read, such as one in an archive of fixtures. */
export function openAnswersToRead(path: string): AnswersDatabase {
  try {
    return new AnswersDatabase(path, timeoutMs);
  } catch (error) {
    const readOnly = isUnwritable(error) ? orUndefined(() => new AnswersDatabase(path, timeoutMs, true)) : undefined;
    if (readOnly) return readOnly;
    throw answersError(path, error);
  }
}

function answersError(path: string, error: unknown): AutomateError {
  if (error instanceof AutomateError) return error;
  const reason = databaseReason(error as Error);
  const message = `the kept answers in ${path} cannot be used: ${reason}`;
  const isUnreadable = isDamaged(error) || error instanceof SyntaxError || /^Z_/.test((error as NodeJS.ErrnoException).code ?? '');
  const damaged = { code: 'answers-damaged', details: { out: path.replace(/\.automate-answers$/, '') } } as const;
  return new AutomateError('output', message, { cause: error, ...(isUnreadable && damaged) });
}

function databaseReason(error: Error): string {
  const isWritable = !/readonly database/.test(error.message);
  return isWritable ? systemReason(error) : 'this user may not write to the file';
}

interface Pending {
  readonly question: KeptQuestion;
  readonly answer: KeptAnswer;
  readonly content: AnswerContent;
  readonly part?: BatchPart;
}

interface UnpackedBlock {
  readonly answers: readonly StoredAnswer[];
  readonly byUse: ReadonlyMap<string, StoredAnswer>;
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
  /** The blocks in memory, the last one first. */
  #blocks: readonly UnpackedBlock[] = [];
  /** The bits of this part of the run, and of earlier parts, by chunk. */
  readonly #bits = new Map<number, Uint8Array>();
  readonly #earlier = new Map<number, Uint8Array>();
  readonly #dirty = new Set<number>();
  /** The last place of each request that no record can have any more. Otherwise, each of many equal requests would look at all of them. */
  readonly #passed = new Map<string, Pick<KeptPlace, 'record' | 'number'>>();
  /** The answers of polls under way, by record and place, and by node and key. */
  readonly #pending = new Map<string, Map<string, Pending>>();
  /** The new answers that several records share, by request. */
  readonly #sharedAnswers = new Map<string, number>();
  #turn: StoredAnswer[] = [];
  #tail: StoredAnswer[] = [];
  #bytes: number;
  #next: number | undefined;
  #turnEnd: NodeJS.Timeout | NodeJS.Immediate | undefined;
  /** Resolves when the turn is written. Undefined if nothing waits for it. */
  #written: { readonly promise: Promise<void>; resolve(): void } | undefined;
  #canWrite: boolean;
  #hasWarned = false;
  #contentOf: ((files: readonly string[]) => Promise<string>) | undefined;

  constructor(options: KeptAnswersOptions, database = opened(options)) {
    this.#options = options;
    this.#canWrite = !database.isReadOnly;
    this.isReplay = options.isReplay;
    this.#database = database;
    this.#bytes = database.bytes();
    this.#minAt = options.maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : options.wallNow() - options.maxAgeMs;
  }

  readFilesWith(contentOf: (files: readonly string[]) => Promise<string>): void {
    this.#contentOf = contentOf;
  }

  contentOf(files: readonly string[]): Promise<string> {
    return this.#contentOf?.(files) ?? Promise.resolve(JSON.stringify(files));
  }

  find(question: KeptQuestion): FoundAnswer | undefined {
    if (this.#options.session.lastAnswer === 0) return undefined;
    try {
      const text = this.#textOf(question);
      const answer = this.#inBlocks(text, question) ?? this.#inDatabase(keyHash(text), question);
      const whole = answer?.part ? this.#load(answer.part.of) : answer;
      if (!answer || !whole) return undefined;
      this.#use(answer, question);
      return foundAnswer(answer, whole.body);
    } catch (error) {
      throw answersError(this.#options.path, error);
    }
  }

  keep(question: KeptQuestion, answer: KeptAnswer): Keeping | undefined {
    const shared = question.use === 'always' && !question.parts ? keyHash(this.#textOf(question)).toString('latin1') : undefined;
    const earlier = shared === undefined ? undefined : this.#sharedAnswers.get(shared);
    if (earlier !== undefined) {
      this.#writing(() => this.#share(earlier, question));
      return undefined;
    }
    const content = contentOf(answer);
    if (this.#hasSecret(content, answer.extra)) return 'secret';
    if (!this.#canWrite || this.#bytes > this.#options.maxBytes) {
      this.#warnOfFull();
      return 'full';
    }
    const isKept = this.#writing(() => {
      if (question.parts) this.#addBatch({ question, answer, content }, question.parts);
      else if (question.use === 'last') this.#hold({ question, answer, content });
      else this.#add({ question, answer, content });
    });
    if (isKept && shared !== undefined) this.#remember(shared);
    return isKept ? 'kept' : 'full';
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
    const key = pollKey({ record, place });
    const ofPoll = this.#pending.get(key);
    if (!ofPoll) return;
    this.#pending.delete(key);
    this.#writing(() => {
      for (const pending of ofPoll.values()) this.#add(pending);
    });
  }

  /** Also packs what killed processes have left. Workers leave that to their run. */
  async close(isOfWorker = false): Promise<void> {
    const end = () => {
      this.#database.packOpen();
      this.#database.endSession(this.#options.session, this.#options.wallNow());
    };
    try {
      this.#endTurn();
      if (!isOfWorker && this.#writing(end)) this.#endTurn();
    } finally {
      await this.#database.close(this.#options.isShared && !isOfWorker);
    }
  }

  #textOf({ key }: KeptQuestion): string {
    return `${this.#options.env}\n${key}`;
  }

  /** The usual case: records come in the order in which their answers were kept. */
  #inBlocks(key: string, question: KeptQuestion): StoredAnswer | undefined {
    if (key.length > maxKey) return undefined;
    const use = useKey({ key, record: question.record, place: placeOf(question) });
    for (const { byUse } of this.#blocks) {
      const answer = byUse.get(use);
      if (!answer) continue;
      this.#beginTurn();
      return this.#isUsable(answer, question) ? answer : undefined;
    }
    return undefined;
  }

  #inDatabase(key: Buffer, question: KeptQuestion): StoredAnswer | undefined {
    this.#beginTurn();
    const place = placeOf(question);
    const own = this.#database.placesOf(key, question.record).filter((one) => this.#isUsable(one, question));
    const found = own.find((one) => one.place === place) ?? own[0] ?? this.#ofOthers(key, question);
    return found && this.#load(found.number);
  }

  /** In the order of the records that got them, and not in the order in which they arrived. */
  #ofOthers(key: Buffer, question: KeptQuestion): KeptPlace | undefined {
    const name = key.toString('latin1');
    for (let from = this.#passed.get(name) ?? { record: 0, number: 0 }; ; ) {
      const { places, areLast } = this.#database.placesAfter(key, from);
      const found = places.find((one) => this.#isUsable(one, question));
      if (found || areLast) return found;
      from = places.at(-1) as KeptPlace;
      this.#passed.set(name, from);
    }
  }

  #isUsable({ number, record, place, at }: KeptPlace | StoredAnswer, question: KeptQuestion): boolean {
    const { session } = this.#options;
    if (number > session.lastAnswer || at < this.#minAt) return false;
    if (place.startsWith(partPlace) !== (question.isPart ?? false)) return false;
    if (question.use === 'always') return true;
    const [chunk, byte, mask] = bitOf(number);
    if ((this.#bitsOf(chunk)[byte] as number) & mask) return false;
    if (session.first === session.number || record === question.record) return true;
    return ((this.#earlierBitsOf(chunk)[byte] as number) & mask) === 0;
  }

  #use(answer: StoredAnswer, question: KeptQuestion): void {
    const { record } = question;
    this.#setBit(answer.number);
    if (!this.#canWrite) return;
    this.#share(answer.number, question);
    const place = placeOf(question);
    if (question.use === 'always' || (answer.record === record && answer.place === place)) return;
    this.#database.move(answer.number, record, place);
  }

  /** Notes the other records that share a cached answer. */
  #share(number: number, { record, use }: KeptQuestion): void {
    if (use === 'always') this.#database.share(number, record, this.#options.session.number);
  }

  #load(number: number): StoredAnswer | undefined {
    const isIn = (answers: readonly StoredAnswer[]) => answers.find((answer) => answer.number === number);
    for (const { answers } of this.#blocks) {
      const found = isIn(answers);
      if (found) return found;
    }
    const answers = this.#database.blockWith(number);
    // The first of equal ones counts, which a node can ask for several times.
    const byUse = new Map([...answers].reverse().map((answer) => [useKey(answer), answer]));
    this.#blocks = [{ answers, byUse }, ...this.#blocks.slice(0, maxBlocks - 1)];
    return isIn(answers);
  }

  #addBatch({ question, answer, content }: Pending, parts: readonly KeptQuestion[]): void {
    const of = this.#add({ question: { ...question, use: 'once' }, answer, content });
    for (const [position, part] of parts.entries()) {
      const pending = { question: part, answer, content: { ...content, body: noBody }, part: { of, position, count: parts.length } };
      if (part.use === 'last') this.#hold(pending);
      else this.#add(pending);
    }
  }

  #hold(pending: Pending): void {
    const { question } = pending;
    const place = pollKey(question);
    const ofPoll = this.#pending.get(place) ?? new Map<string, Pending>();
    this.#pending.set(place, ofPoll.set(`${question.node} ${question.key}`, pending));
  }

  /** Returns the number of the answer. */
  #add({ question, answer, content, part }: Pending): number {
    const text = this.#textOf(question);
    const { redactor } = this.#options;
    const isPlain = text.length <= maxKey && !redactor.isIn(text);
    if (question.use !== 'once' || this.#minAt > 0) this.#removeReplaced(keyHash(text), question);
    const number = this.#next ?? this.#database.nextNumber();
    this.#next = number + 1;
    const key = isPlain ? text : `#${keyHash(text).toString('hex')}\n${redactor.text(text).slice(0, maxKey)}`;
    this.#setBit(number);
    this.#share(number, question);
    this.#turn.push(storedAnswer({ ...question, place: placeOf(question) }, answer, { ...content, number, key, part }));
    if (this.#turn.length === 1) this.#endTurnIn(turnMs.adds);
    return number;
  }

  #remember(shared: string): void {
    if (this.#sharedAnswers.size >= maxShared) this.#sharedAnswers.clear();
    this.#sharedAnswers.set(shared, (this.#next as number) - 1);
  }

  #removeReplaced(key: Buffer, question: KeptQuestion): void {
    const { record, use } = question;
    const place = placeOf(question);
    const isReplaced = (one: KeptPlace) => use === 'always' || (one.place === place && (use === 'last' || one.at < this.#minAt));
    const equal =
      use === 'always' ? this.#database.placesAfter(key, { record: 0, number: 0 }).places : this.#database.placesOf(key, record);
    for (const one of equal) if (isReplaced(one)) this.#database.remove(one.number);
  }

  #setBit(number: number): void {
    const [chunk, byte, mask] = bitOf(number);
    const bits = this.#bitsOf(chunk);
    bits[byte] = (bits[byte] as number) | mask;
    this.#dirty.add(chunk);
  }

  #bitsOf(chunk: number): Uint8Array {
    const { session } = this.#options;
    return remembered(this.#bits, chunk, () => this.#database.bitsOf(session.number, chunk));
  }

  #earlierBitsOf(chunk: number): Uint8Array {
    return remembered(this.#earlier, chunk, () => this.#database.earlierBitsOf(this.#options.session, chunk));
  }

  #hasSecret({ head, body, redirectedTo }: AnswerContent, extra: Value | undefined): boolean {
    const others = redirectedTo || extra !== undefined ? JSON.stringify([redirectedTo, extra]) : '';
    // As Latin-1, each byte is one character, so that binary bodies can be searched, too.
    const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
    return [text, head, others].some((one) => this.#options.redactor.isIn(one));
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
   * Everything of a moment is one transaction. Records whose answers are in it wait for its end before they continue, so that only answers
   * to requests in flight are missing if the process is killed.
   */
  #beginTurn(): void {
    if (this.#turnEnd !== undefined || !this.#canWrite) return;
    this.#database.begin();
    this.#endTurnIn(turnMs.uses);
    if (!this.#options.isShared) return;
    // Other processes may have used up answers, and added some, since the last turn.
    this.#bits.clear();
    this.#next = undefined;
  }

  /** Other processes wait while a transaction is open, so it is short if there are some. */
  #endTurnIn(ms: number): void {
    this.#clearTurn();
    this.#turnEnd = this.#options.isShared ? setImmediate(() => this.#endTurn()) : setTimeout(() => this.#endTurn(), ms);
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
    this.#bytes += this.#database.addBlock(this.#turn, false);
    // The numbers of several processes alternate, so the run packs their blocks at its end.
    if (!this.#options.isShared) this.#tail.push(...this.#turn);
    this.#turn = [];
    if (!isFull(this.#tail)) return;
    this.#database.pack(this.#tail);
    this.#tail = [];
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
    this.#warn(`answers are no longer kept: ${path} has reached its maximum of ${bytesText(maxBytes)}`);
  }

  #warn(message: string): void {
    if (!this.#hasWarned) this.#options.warn(message);
    this.#hasWarned = true;
  }
}

function remembered(all: Map<number, Uint8Array>, chunk: number, read: () => Uint8Array): Uint8Array {
  const bits = all.get(chunk) ?? read();
  all.set(chunk, bits);
  return bits;
}

function pollKey({ record, place }: Pick<KeptQuestion, 'record' | 'place'>): string {
  return `${record} ${place}`;
}

function placeOf({ place, node, parts, isPart }: KeptQuestion): string {
  const kind = parts ? batchPlace : isPart ? partPlace : '';
  return `${kind}${place} ${node}`;
}

function useKey({ key, record, place }: Pick<StoredAnswer, 'key' | 'record' | 'place'>): string {
  return `${record} ${place}\n${key}`;
}

/** A run that only replays answers needs to write nothing. */
function opened({ path, isReplay }: AnswerSettings | Omit<AnswerSettings, 'session'>): AnswersDatabase {
  return isReplay ? openAnswersToRead(path) : openAnswersDatabase(path);
}

/** Begins a session of a run in the file of its answers. */
export function openAnswers(
  options: Omit<KeptAnswersOptions, 'session'> & { readonly runs: readonly string[]; readonly flow: FlowOrigins },
): KeptAnswers & { readonly settings: AnswerSettings } {
  const { runs, flow, ...others } = options;
  const database = opened(options);
  try {
    const session = database.isReadOnly ? database.readOnlySession() : database.beginSession(runs, flow);
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
  /** Number of answers that the requests so far have left, by request. */
  readonly #left = new Map<string, number>();

  constructor(database: AnswersDatabase, env: string, minAt: number) {
    this.#database = database;
    this.#env = env;
    this.#minAt = minAt;
  }

  /** Counts the request. Returns true if an answer is left for it. */
  has({ key, use }: Pick<KeptQuestion, 'key' | 'use'>): boolean {
    const hashed = keyHash(`${this.#env}\n${key}`);
    const name = hashed.toString('latin1');
    const left = this.#left.get(name) ?? this.#database.count(hashed, this.#minAt);
    if (left === 0) return false;
    this.#left.set(name, use === 'always' ? left : left - 1);
    return true;
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

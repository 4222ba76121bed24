import type { ActionRequest } from '../../core/action.ts';
import type { Answer, Mapping } from '../../core/answer/mapping.ts';
import { Failure } from '../../core/failure.ts';
import type { LookupDocument } from '../../core/lookups/lookup.ts';
import type { SourceName } from '../../core/lookups/sources.ts';
import { type Action, type NodeContext, type Reading, Unasked } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { type Fields, withNulls } from '../../core/record.ts';
import { type Accepted, readMapped } from '../calling.ts';
import type { Lookup } from './lookup.ts';
import type { LookupOptions } from './lookup-options.ts';

/** A record whose lookup is under way. */
export interface AskedRecord {
  readonly request: ActionRequest;
  readonly fields: Fields;
  /** The sources that answer. */
  readonly sources: readonly SourceName[];
}

/** A way to ask: the action of a node, and how a record gets its rows. */
export interface Asking {
  readonly action: Action;
  /** Answers the rows of a record. Throws a Failure or Unfinished. */
  ask(asked: AskedRecord, context: NodeContext): Promise<readonly Fields[]>;
}

/** The way from the answer documents of a lookup to the rows of its node. */
export class LookupResults {
  readonly #lookup: Lookup;
  readonly #mapping: Mapping;
  readonly #rejects: boolean;
  readonly #isMapped: boolean;

  /** `options`, `mapping`: of the node. */
  constructor(lookup: Lookup, { no_match: noMatch, map }: LookupOptions, mapping: Mapping) {
    this.#lookup = lookup;
    this.#mapping = mapping;
    this.#rejects = noMatch === 'reject';
    // Only the paths of the flow's own map are counted.
    this.#isMapped = map !== undefined;
  }

  /** The name of the lookup in summaries. */
  get label(): string {
    return this.#lookup.label;
  }

  /** The parts of the node's action that do not depend on the answerer. */
  get actionParts(): Pick<Action, 'expands' | 'paths' | 'fields' | 'makesDocument' | 'read'> {
    const { expands, paths, fields } = this.#mapping;
    return { expands, paths, fields, makesDocument: true, read: (record, answer) => this.#read(record, answer) };
  }

  /** The request, or the record with its fields empty if there is nothing to look up. */
  askedFor<Request>(request: Request | undefined, fields: Fields): Request | Unasked {
    return request ?? new Unasked(withNulls(fields, this.#mapping.fields));
  }

  /** The document as `map` reads it, with the headers of its response. Throws a Failure if the flow wants a match and there is none. */
  answer(document: LookupDocument, record: Fields, response?: HttpResponse): Accepted {
    if (this.#rejects && !document.match) throw new Failure('answer', this.#lookup.noMatch(document, record));
    if (!response) return { status: undefined, header: noHeader, body: document };
    return { status: response.status, header: response.header, body: document, response };
  }

  /** Reports the result of a lookup, and makes the rows of the record. Throws a Failure. */
  rows(document: LookupDocument, asked: AskedRecord, context: Pick<NodeContext, 'report'>, response?: HttpResponse): readonly Fields[] {
    const { fields, sources } = asked;
    const { match } = document;
    context.report({ type: 'looked-up', lookup: this.#lookup.label, match, sources, ...this.#findings(document, fields) });
    const { rows, found } = this.#read(fields, this.answer(document, fields, response));
    if (this.#isMapped) context.report({ type: 'mapped', paths: this.#mapping.paths, found });
    return rows;
  }

  /** A document has all of its members, so a path counts as found only if it leads to a value that is not null. */
  #read(fields: Fields, answer: Answer): Reading {
    const { rows, found } = readMapped(this.#mapping, fields, answer);
    const hasValue = (field: string) => rows.some((row) => (row.get(field) ?? null) !== null);
    return { rows, found: this.#mapping.fields.map((field, index) => found[index] === true && hasValue(field)) };
  }

  /** Facts about a document that the summary counts; undefined for most documents. */
  #findings(document: LookupDocument, fields: Fields) {
    const unknownCountry = this.#lookup.unknownCountry?.(fields);
    if (this.#rejects && !document.match) return unknownCountry === undefined ? undefined : { unknownCountry };
    const lacking = this.#lookup.lacking?.(document);
    const cutOff = this.#lookup.cutOff?.(document);
    const { ambiguous, doubt } = document;
    const isDoubtful = ambiguous === true || typeof doubt === 'string';
    if (!isDoubtful && !lacking && !cutOff && unknownCountry === undefined) return undefined;
    return {
      ...(isDoubtful && { [ambiguous ? 'ambiguous' : 'doubtful']: this.#lookup.question(document, fields) }),
      ...(unknownCountry !== undefined && { unknownCountry }),
      ...(lacking && { lacking }),
      ...cutOff,
    };
  }
}

const noHeader = () => undefined;

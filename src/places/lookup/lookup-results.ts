import type { ActionRequest } from '../../core/action.ts';
import type { Answer, Mapping } from '../../core/answer/mapping.ts';
import { Failure } from '../../core/failure.ts';
import { type Action, type NodeContext, type RowsRead, Unasked } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { type Fields, withNulls } from '../../core/record.ts';
import { type Accepted, mappedEvent, readMapped } from '../../nodes/calling.ts';
import type { LookupDocument } from '../lookup.ts';
import type { SourceName } from '../sources.ts';
import type { Lookup, LookupOptions } from './lookup.ts';

export interface AskedRecord {
  readonly request: ActionRequest;
  readonly fields: Fields;
  readonly sources: readonly SourceName[];
}

export interface Asking {
  readonly action: Action;
  /** Looks the record up, and returns its rows. Throws a Failure if the lookup fails, or Unfinished if the run ends first. */
  ask(asked: AskedRecord, context: NodeContext): Promise<readonly Fields[]>;
}

export class LookupResults {
  readonly #lookup: Lookup;
  readonly #mapping: Mapping;
  readonly #rejects: boolean;
  readonly #isMapped: boolean;

  constructor(lookup: Lookup, { no_match: noMatch, map }: LookupOptions, mapping: Mapping) {
    this.#lookup = lookup;
    this.#mapping = mapping;
    this.#rejects = noMatch === 'reject';
    // The summary counts only the paths of a map that the flow contains, not the paths of the default map.
    this.#isMapped = map !== undefined;
  }

  get label(): string {
    return this.#lookup.label;
  }

  /** The parts of the node's action that are the same for servers and local data. */
  get actionParts(): Pick<Action, 'expands' | 'paths' | 'fields' | 'makesDocument' | 'read'> {
    const { expands, paths, fields } = this.#mapping;
    return { expands, paths, fields, makesDocument: true, read: (record, answer) => this.#read(record, answer) };
  }

  askedFor<Request>(request: Request | undefined, fields: Fields): Request | Unasked {
    return request ?? new Unasked(withNulls(fields, this.#mapping.fields));
  }

  /** Throws a Failure if the flow requires a match and there is none. */
  answer(document: LookupDocument, record: Fields, response?: HttpResponse): Accepted {
    if (this.#rejects && !document.match) throw new Failure('answer', this.#lookup.noMatch(document, record));
    if (!response) return { status: undefined, header: noHeader, body: document };
    return { status: response.status, header: response.header, body: document, response };
  }

  /** Reports the result of a lookup, and returns the record's rows. Throws a Failure if the flow requires a match and there is none. */
  rows(document: LookupDocument, asked: AskedRecord, context: Pick<NodeContext, 'report'>, response?: HttpResponse): readonly Fields[] {
    const { fields, sources } = asked;
    const { match } = document;
    context.report({ type: 'looked-up', lookup: this.#lookup.label, match, sources, ...this.#findings(document, fields) });
    const { rows, found } = this.#read(fields, this.answer(document, fields, response));
    if (this.#isMapped) context.report(mappedEvent(this.#mapping.paths, found));
    return rows;
  }

  /** Maps a document to rows. A path counts as found only if its value is not null, because a document always has all of its members. */
  #read(fields: Fields, answer: Answer): RowsRead {
    const { rows, found } = readMapped(this.#mapping, fields, answer);
    const hasValue = (field: string) => rows.some((row) => (row.get(field) ?? null) !== null);
    return { rows, found: this.#mapping.fields.map((field, index) => hasValue(field) && (found[index] ?? false)) };
  }

  /** Returns the facts about a document that the summary counts; undefined if there are none. */
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
      unknownCountry,
      lacking,
      ...cutOff,
    };
  }
}

const noHeader = () => undefined;

import type { ActionRequest, ActionResponse } from '../../core/action.ts';
import type { LookupDocument } from '../../core/lookups/lookup.ts';
import type { SourceName } from '../../core/lookups/sources.ts';
import type { Question } from './question.ts';

/** An answerer of geocodes. */
export interface Provider {
  readonly sources: readonly SourceName[];
  /** True if data on this machine answer. */
  readonly isEmbedded: boolean;
  request(question: Question): ActionRequest;
  /** The answer document. Throws a Failure for a refusal. */
  document(response: ActionResponse, request: ActionRequest | undefined): LookupDocument;
}

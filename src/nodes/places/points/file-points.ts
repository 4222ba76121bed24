import type { LookupAnswer, LookupRequest } from '../../../core/lookups/lookup.ts';
import type { Around, Box, FoundPoint } from '../../../core/lookups/points.ts';
import type { BuildContext } from '../../../core/node.ts';
import type { Lookup } from '../../lookup-node.ts';
import type { PlacesOptions } from '../places-options.ts';
import { pointsDocument, type QuestionParts } from './points-document.ts';
import { PointsQuestions } from './question.ts';

type PointsRequest = Extract<LookupRequest, { lookup: 'points' }>;

/** The parts in which the lookup of a file's points differs from that of a server. Absent if a problem was reported. */
export function fileLookup(
  { file, area }: PlacesOptions,
  parts: QuestionParts,
  { problem }: BuildContext,
): Pick<Lookup, 'isEmbedded' | 'dataFile' | 'prepare' | 'document'> | undefined {
  if (file === undefined) return void problem(['source'], 'source: file needs the option "file"');
  if (area && !area.bbox) return void problem(['area'], 'source: file takes an area as bbox only: [south, west, north, east]');
  const { categories, limit } = parts;
  const questions = new PointsQuestions<PointsRequest>(parts, ({ where, categories, chain }) => ({
    kind: 'lookup',
    lookup: 'points',
    query: { file, where: where as Around | Box, categories, chain },
  }));
  return {
    isEmbedded: true,
    dataFile: file,
    prepare: (fields) => questions.request(fields),
    document(answer, request) {
      const { found } = (answer as LookupAnswer).body;
      const { where } = (request as PointsRequest).query;
      return pointsDocument(found as unknown as readonly FoundPoint[], {
        near: 'near' in where ? where.near : undefined,
        categories,
        limit,
      });
    },
  };
}

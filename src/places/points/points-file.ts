import type { LookupRequest } from '../../core/lookup.ts';
import type { BuildContext } from '../../core/node.ts';
import type { LocalData } from '../lookup/lookup.ts';
import type { PlacesOptions } from '../node/places-options.ts';
import type { Around, Box, FoundPoint, PointsQuery } from '../points.ts';
import { pointsDocument, type QuestionParts } from './points-document.ts';
import { PointsQuestions } from './question.ts';

/** A request for points in a file. */
interface PointsRequest extends LookupRequest {
  readonly query: PointsQuery;
}

/** Returns the data for `source: file`; undefined if a problem was reported. */
export function pointsFile({ file, area }: PlacesOptions, parts: QuestionParts, { problem }: BuildContext): LocalData | undefined {
  if (file === undefined) return void problem(['source'], 'source: file needs the option "file"');
  if (area && !area.bbox) return void problem(['area'], 'with source: file, the area must be a bbox: [south, west, north, east]');
  const { categories, limit } = parts;
  const tags = categories.map((category) => category.tags);
  const questions = new PointsQuestions<PointsRequest>(parts, ({ where, chain }) => ({
    kind: 'lookup',
    lookup: 'points',
    query: { file, where: where as Around | Box, categories: tags, chain },
  }));
  return {
    file,
    request: (fields) => questions.request(fields),
    document({ found }, request) {
      const { where } = (request as PointsRequest).query;
      const near = 'near' in where ? where.near : undefined;
      const points = found as unknown as readonly FoundPoint[];
      return pointsDocument({ points, mayLackNearest: false }, { near, categories, limit, source: 'openstreetmap' });
    },
  };
}

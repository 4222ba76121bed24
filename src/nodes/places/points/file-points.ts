import type { LookupAnswer, LookupRequest } from '../../../core/lookups/lookup.ts';
import type { Around, Box, FoundPoint } from '../../../core/lookups/points.ts';
import type { BuildContext } from '../../../core/node.ts';
import { textTemplate } from '../../../core/template/template.ts';
import type { Lookup } from '../../lookup-node.ts';
import { refuseLong } from '../chain.ts';
import type { PlacesOptions } from '../places-options.ts';
import { pointsDocument, type QuestionParts, unknownChain } from './points-document.ts';

type PointsRequest = Extract<LookupRequest, { lookup: 'points' }>;

/** The parts in which the lookup of a file's points differs from that of a server. Absent if a problem was reported. */
export function fileLookup(
  { file, area }: PlacesOptions,
  { where: whereOf, chain, categories, limit }: QuestionParts,
  { problem }: BuildContext,
): Pick<Lookup, 'isEmbedded' | 'dataFile' | 'prepare' | 'document'> | undefined {
  if (file === undefined) return void problem(['source'], 'source: file needs the option "file"');
  if (area && !area.bbox) return void problem(['area'], 'source: file takes an area as bbox only: [south, west, north, east]');
  const chainOf = chain === undefined ? undefined : textTemplate(chain);
  const tags = categories.map((category) => category.tags);
  return {
    isEmbedded: true,
    dataFile: file,
    prepare(fields) {
      const where = whereOf(fields) as Around | Box | undefined;
      const name = chainOf?.(fields).trim();
      if (!where || name === '') return undefined;
      if (name !== undefined) refuseLong(name, 'name');
      const query = { file, where, categories: tags, chain: name, category: categories[0]?.id };
      return { kind: 'lookup', lookup: 'points', query };
    },
    document(answer, request) {
      const { found } = (answer as LookupAnswer).body;
      if (!found) return unknownChain;
      const { where } = (request as PointsRequest).query;
      return pointsDocument(found as unknown as readonly FoundPoint[], {
        near: 'near' in where ? where.near : undefined,
        categories,
        limit,
      });
    },
  };
}

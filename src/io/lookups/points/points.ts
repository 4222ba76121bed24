import { stat } from 'node:fs/promises';
import KDBush from 'kdbush';
import { earthRadius, metresBetween } from '../../../core/lookups/distance.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { type Around, type Box, type FoundPoint, hasTags, type PointsQuery, type Tags } from '../../../core/lookups/points.ts';
import type { JsonObject } from '../../../core/value/value.ts';
import { readError } from '../../records/readers/input.ts';
import type { FilePoint } from './feature.ts';
import { readPoints } from './points-file.ts';

/** The points of a file, in memory. */
export interface PointsOfFile {
  /** Finds the points in that area that have all tags of one of the lists, in no order. */
  find(where: Around | Box, wanted: readonly Tags[]): FoundPoint[];
}

interface ReadFile {
  readonly version: string;
  readonly points: Promise<PointsOfFile>;
}

/** The files that were read, by path: a server has many runs over one file. */
const files = new Map<string, ReadFile>();

/** Reads a file of points, unless this version of it was read before. Throws an AutomateError (`input`). */
export async function pointsOfFile(file: string): Promise<PointsOfFile> {
  const { size, mtimeMs } = await stat(file).catch((error) => {
    throw readError(file, error);
  });
  const version = `${size} ${mtimeMs}`;
  const found = files.get(file);
  if (found?.version === version) return found.points;
  const points = readPoints(file).then((found) => (found.length === 0 ? noPoints : new PointsIndex(found)));
  files.set(file, { version, points });
  points.catch(() => files.delete(file));
  return points;
}

const noPoints: PointsOfFile = { find: () => [] };

/** Points in a k-d tree over degrees. */
class PointsIndex implements PointsOfFile {
  readonly #points: readonly FilePoint[];
  readonly #tree: KDBush;

  /** `points`: at least one. */
  constructor(points: readonly FilePoint[]) {
    this.#points = points;
    this.#tree = new KDBush(points.length, 64, Float64Array);
    for (const { lon, lat } of points) this.#tree.add(lon, lat);
    this.#tree.finish();
  }

  find(where: Around | Box, wanted: readonly Tags[]): FoundPoint[] {
    const found = sidesOf(where).flatMap((sides) => this.#within(sides));
    return found.filter((point) => isWithin(where, point) && wanted.some((tags) => hasTags(point.tags, tags)));
  }

  #within([south, west, north, east]: Sides): FilePoint[] {
    return this.#tree.range(west, south, east, north).map((index) => this.#points[index] as FilePoint);
  }
}

function isWithin(where: Around | Box, point: FoundPoint): boolean {
  return !('near' in where) || metresBetween(where.near, point) <= where.radius;
}

type Sides = readonly [south: number, west: number, north: number, east: number];

/** The boxes in which the points lie: two boxes across the date line. */
function sidesOf(where: Around | Box): Sides[] {
  const [south, west, north, east] = 'near' in where ? boxAround(where) : (where.bbox as unknown as Sides);
  if (west > east)
    return [
      [south, west, north, 180],
      [south, -180, north, east],
    ];
  if (west < -180)
    return [
      [south, -180, north, east],
      [south, west + 360, north, 180],
    ];
  if (east > 180)
    return [
      [south, west, north, 180],
      [south, -180, north, east - 360],
    ];
  return [[south, west, north, east]];
}

/** The box around a circle. A circle with a pole in it reaches around the earth. */
function boxAround({ near: { lat, lon }, radius }: Around): Sides {
  const angle = radius / earthRadius;
  const degrees = (angle * 180) / Math.PI;
  const sine = Math.sin(angle) / Math.cos((lat * Math.PI) / 180);
  const isPolar = Math.abs(lat) + degrees >= 90 || sine >= 1;
  const reach = (Math.asin(Math.min(1, sine)) * 180) / Math.PI;
  return isPolar ? [lat - degrees, -180, lat + degrees, 180] : [lat - degrees, lon - reach, lat + degrees, lon + reach];
}

/** Answers a question for the points of a file. */
export async function findPoints({ file, where, categories, chain }: PointsQuery): Promise<LookupDocument> {
  const points = await pointsOfFile(file);
  const wanted = categories.length === 0 ? [{ ...chain }] : categories.map((own) => ({ ...own, ...chain }));
  const found = points.find(where, wanted) as readonly FoundPoint[] as unknown as readonly JsonObject[];
  return { match: found.length > 0, found: [...found] };
}

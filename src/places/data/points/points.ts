import { stat } from 'node:fs/promises';
import KDBush from 'kdbush';
import type { JsonObject } from '../../../core/value/value.ts';
import { readError } from '../../../records/input.ts';
import { earthRadius, metresBetween } from '../../distance.ts';
import type { LookupDocument } from '../../lookup.ts';
import { type Around, type Box, type FoundPoint, hasTags, type PointsQuery, type Tags } from '../../points.ts';
import type { FilePoint } from './feature.ts';
import { readPoints } from './points-file.ts';

/** The points of a point file, in memory. */
export interface PointsOfFile {
  /**
   * Finds the points in an area. `wanted` is a list of sets of tags, and a point must have all tags of at least one set. The result is not
   * sorted.
   */
  find(where: Around | Box, wanted: readonly Tags[]): FoundPoint[];
}

interface ReadFile {
  readonly version: string;
  readonly points: Promise<PointsOfFile>;
}

/** Point files that have been read, keyed by path. They stay in memory, because many runs on a server may use the same file. */
const files = new Map<string, ReadFile>();

/**
 * Returns the points in a point file. Reads the file unless it is already in memory and has not changed. Throws an AutomateError (`input`)
 * if the file cannot be read.
 */
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

/** The points of a file in a k-d tree of longitudes and latitudes in degrees. */
class PointsIndex implements PointsOfFile {
  readonly #points: readonly FilePoint[];
  readonly #tree: KDBush;

  /** `points` must not be empty. */
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

/** Returns the boxes in which points are searched for. An area across the date line (180° longitude) is split into two boxes. */
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

/** Returns the box around a circle. If the circle contains a pole, the box covers all longitudes. */
function boxAround({ near: { lat, lon }, radius }: Around): Sides {
  const angle = radius / earthRadius;
  const degrees = (angle * 180) / Math.PI;
  const sine = Math.sin(angle) / Math.cos((lat * Math.PI) / 180);
  const isPolar = Math.abs(lat) + degrees >= 90 || sine >= 1;
  const reach = (Math.asin(Math.min(1, sine)) * 180) / Math.PI;
  return isPolar ? [lat - degrees, -180, lat + degrees, 180] : [lat - degrees, lon - reach, lat + degrees, lon + reach];
}

/** Looks up points in a point file. */
export async function findPoints({ file, where, categories, chain }: PointsQuery): Promise<LookupDocument> {
  const points = await pointsOfFile(file);
  const wanted = categories.length === 0 ? [{ ...chain }] : categories.map((own) => ({ ...own, ...chain }));
  const found = points.find(where, wanted) as readonly FoundPoint[] as unknown as readonly JsonObject[];
  return { match: found.length > 0, found: [...found] };
}

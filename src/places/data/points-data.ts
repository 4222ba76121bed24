import { stat } from 'node:fs/promises';
import KDBush from 'kdbush';
import { isObject, type JsonObject, orUndefined, type Value } from '../../core/value/value.ts';
import { openInput, readError } from '../../records/input.ts';
import { jsonFault } from '../../records/json/json-fault.ts';
import { inputError } from '../../records/record-reader.ts';
import { gunzip } from '../../records/utf8.ts';
import { earthRadius, metresBetween } from '../coordinates.ts';
import { type Around, type Box, type FoundPoint, hasTags, type LookupDocument, type PointsQuery, type Tags } from '../lookup.ts';
import { type FilePoint, filePoint } from './points-feature.ts';

/** Point files that have been read, keyed by path. They stay in memory, because many runs on a server may use the same file. */
const files = new Map<string, { readonly version: string; readonly points: Promise<PointsIndex> }>();

/** Reads the file unless it is in memory and unchanged. Throws an AutomateError (`input`) if it cannot be read. */
export async function pointsOfFile(file: string): Promise<PointsIndex> {
  const { size, mtimeMs } = await stat(file).catch((error) => {
    throw readError(file, error);
  });
  const version = `${size} ${mtimeMs}`;
  const found = files.get(file);
  if (found?.version === version) return found.points;
  const points = readPoints(file).then((found) => new PointsIndex(found));
  files.set(file, { version, points });
  points.catch(() => files.delete(file));
  return points;
}

/** The points of a file in a k-d tree of longitudes and latitudes in degrees. */
class PointsIndex {
  readonly #points: readonly FilePoint[];
  /** Undefined without points, because a tree cannot be empty. */
  readonly #tree: KDBush | undefined;

  constructor(points: readonly FilePoint[]) {
    this.#points = points;
    if (points.length === 0) return;
    this.#tree = new KDBush(points.length, 64, Float64Array);
    for (const { lon, lat } of points) this.#tree.add(lon, lat);
    this.#tree.finish();
  }

  /** A point must have all tags of at least one set in `wanted`. The result is not sorted. */
  find(where: Around | Box, wanted: readonly Tags[]): FoundPoint[] {
    return sidesOf(where)
      .flatMap(([south, west, north, east]) => this.#tree?.range(west, south, east, north) ?? [])
      .map((index) => this.#points[index] as FilePoint)
      .filter((point) => isWithin(where, point) && wanted.some((tags) => hasTags(point.tags, tags)));
  }
}

function isWithin(where: Around | Box, point: FoundPoint): boolean {
  return !('near' in where) || metresBetween(where.near, point) <= where.radius;
}

type Sides = readonly [south: number, west: number, north: number, east: number];

function sidesOf(where: Around | Box): Sides[] {
  const [south, left, north, right] = 'near' in where ? boxAround(where) : (where.bbox as unknown as Sides);
  const [west, east] = [left < -180 ? left + 360 : left, right > 180 ? right - 360 : right];
  if (west <= east) return [[south, west, north, east]];
  return [
    [south, west, north, 180],
    [south, -180, north, east],
  ];
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

export async function findPoints({ file, where, categories, chain }: PointsQuery): Promise<LookupDocument> {
  const points = await pointsOfFile(file);
  const wanted = categories.length === 0 ? [{ ...chain }] : categories.map((own) => ({ ...own, ...chain }));
  const found = points.find(where, wanted) as unknown as JsonObject[];
  return { match: found.length > 0, found };
}

/**
 * Reads GeoJSON, newline-delimited GeoJSON (also RFC 8142) or an Overpass response, possibly gzipped. For an object that is a line and an
 * area, the area is used. Throws an AutomateError (`input`) if the file is invalid.
 */
export async function readPoints(file: string): Promise<FilePoint[]> {
  const points = new PointsById();
  let line = 0;
  let rest = '';
  let whole: string[] | undefined;
  for await (const part of textOfFile(file)) {
    if (whole) {
      whole.push(part);
      continue;
    }
    const lines = (rest + part).split('\n');
    rest = lines.pop() as string;
    // If the first line is not a feature, the whole file is a single JSON value.
    if (line === 0 && !isFeature(lines[0] ?? rest)) whole = [...lines, rest].length > 1 ? [`${lines.join('\n')}\n${rest}`] : [rest];
    else for (const text of lines) points.addLine(text, file, ++line);
  }
  if (whole) points.addAll(parsedLine(whole.join(''), file), file);
  else points.addLine(rest, file, line + 1);
  return points.all();
}

/** Also true for the beginning of a feature whose end has not been read yet. */
function isFeature(line: string): boolean {
  const text = withoutSeparator(line);
  if (/^\s*\{[^{}[\]]*"type"\s*:\s*"Feature"/.test(text)) return true;
  return /^\s*\{/.test(text) && orUndefined(() => JSON.parse(text) as JsonObject)?.type === 'Feature';
}

function withoutSeparator(line: string): string {
  return line.startsWith('\u001e') ? line.slice(1) : line;
}

async function* textOfFile(file: string): AsyncGenerator<string> {
  const input = await openInput(file, process.stdin);
  const bytes = file.endsWith('.gz') ? gunzip(input.bytes(0), file) : input.bytes(0);
  const decoder = new TextDecoder();
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  } finally {
    await input.close();
  }
  yield decoder.decode();
}

/** If the text is invalid, throws an AutomateError (`input`) with the position of the first mistake. */
function parsedLine(text: string, file: string, line = 1): Value {
  try {
    return JSON.parse(text) as Value;
  } catch (error) {
    const fault = jsonFault(text, 'the end of the file') ?? { offset: 0, message: (error as Error).message };
    const before = text.slice(0, fault.offset).split('\n');
    const column = (before.at(-1) as string).length + 1;
    throw inputError(file, fault.message, { line: line + before.length - 1, column, cause: error });
  }
}

/** Collects points, with only one for each OpenStreetMap object. */
class PointsById {
  readonly #known = new Map<string, FilePoint>();
  readonly #unknown: FilePoint[] = [];

  addLine(line: string, file: string, number: number): void {
    const text = withoutSeparator(line).trim();
    if (text !== '') this.#add(parsedLine(text, file, number), `${file}:${number}`);
  }

  addAll(value: Value, file: string): void {
    const { features, elements } = isObject(value) ? value : {};
    const list = features ?? elements;
    if (!Array.isArray(list)) {
      const advice = 'osmium export in.osm.pbf -f geojsonseq -u type_id -o out.geojsonseq';
      throw inputError(file, `expected GeoJSON features or an answer of Overpass, found neither\nmake such a file: ${advice}`);
    }
    for (const [index, one] of list.entries()) this.#add(one, `${file}, feature ${index + 1}`);
  }

  all(): FilePoint[] {
    return [...this.#known.values(), ...this.#unknown];
  }

  #add(value: Value, place: string): void {
    let point: FilePoint | undefined;
    try {
      point = filePoint(value);
    } catch (error) {
      throw inputError(place, (error as Error).message, { cause: error });
    }
    if (!point) return;
    if (point.id === null) this.#unknown.push(point);
    else if (point.isArea || !this.#known.has(point.id)) this.#known.set(point.id, point);
  }
}

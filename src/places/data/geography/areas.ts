import type { Columns } from './places.ts';

export interface AreasMeta<Area> {
  /** Number of units per degree. Coordinates in the file are whole numbers of these units. */
  readonly scale: number;
  readonly areas: readonly Area[];
}

/** Number of points in a piece of a border. Pieces that are entirely north or south of a point are skipped. */
const pieceSize = 16;

/** Areas that do not overlap. A border consists of rings: closed lines around a part of the area or around a hole in it. */
export class Areas<Area> {
  readonly #areas: readonly Area[];
  readonly #scale: number;
  /** The index of each ring's area. All rings of an area are next to each other. */
  readonly #owners: Uint32Array;
  /** The points of all rings, each as a longitude followed by a latitude. */
  readonly #points: Int32Array;
  /** Index of the first point of each ring. The last number is the total number of points. */
  readonly #starts: Uint32Array;
  /** The westernmost, southernmost, easternmost and northernmost coordinates of each ring. */
  readonly #bounds: Int32Array;
  /** The southernmost and northernmost latitude of each piece of a border. */
  readonly #pieces: Int32Array;
  /** The indexes of the rings in each degree of longitude from -180 to 180. */
  readonly #byDegree: readonly (readonly number[])[];

  constructor(columns: Columns<AreasMeta<Area>>) {
    this.#areas = columns.meta.areas;
    this.#scale = columns.meta.scale;
    this.#owners = columns.numbers('owners');
    this.#starts = columns.starts('lengths');
    this.#points = pointsOf(columns.bytes('steps'), this.#starts);
    this.#bounds = boundsOf(this.#points, this.#starts);
    this.#pieces = piecesOf(this.#points);
    this.#byDegree = ringsByDegree(this.#bounds, this.#scale);
  }

  at(lat: number, lon: number): Area | undefined {
    const x = lon * this.#scale;
    const y = lat * this.#scale;
    let area = -1;
    let isInside = false;
    for (const ring of this.#byDegree[Math.floor(lon) + 180] ?? []) {
      const owner = this.#owners[ring] as number;
      if (isInside && owner !== area) break;
      area = owner;
      // A point in a hole of an area is inside two rings, the outer border and the hole. It is therefore outside the area.
      if (this.#isInBounds(ring, y, x) && this.#contains(ring, y, x)) isInside = !isInside;
    }
    return isInside ? this.#areas[area] : undefined;
  }

  #isInBounds(ring: number, y: number, x: number): boolean {
    const bounds = this.#bounds;
    const at = 4 * ring;
    const isBetween = x >= (bounds[at] as number) && x <= (bounds[at + 2] as number);
    return isBetween && y >= (bounds[at + 1] as number) && y <= (bounds[at + 3] as number);
  }

  /** True if a line from the point to the east crosses the ring an odd number of times. Skips pieces north or south of it. */
  #contains(ring: number, y: number, x: number): boolean {
    const start = this.#starts[ring] as number;
    const end = this.#starts[ring + 1] as number;
    let isInside = this.#isCrossed(end - 1, start, y, x);
    for (let to = start + 1; to < end; to++) {
      if (to % pieceSize === 0 && this.#isBeside(to / pieceSize, y)) to += pieceSize - 1;
      else if (this.#isCrossed(to - 1, to, y, x)) isInside = !isInside;
    }
    return isInside;
  }

  #isBeside(piece: number, y: number): boolean {
    return y < (this.#pieces[2 * piece] as number) || y >= (this.#pieces[2 * piece + 1] as number);
  }

  #isCrossed(from: number, to: number, y: number, x: number): boolean {
    const points = this.#points;
    const fromY = points[2 * from + 1] as number;
    const toY = points[2 * to + 1] as number;
    if (toY > y === fromY > y) return false;
    const toX = points[2 * to] as number;
    return x < (((points[2 * from] as number) - toX) * (y - toY)) / (fromY - toY) + toX;
  }
}

function piecesOf(points: Int32Array): Int32Array {
  const pieces = new Int32Array(2 * Math.ceil(points.length / 2 / pieceSize));
  for (let piece = 0; 2 * piece < pieces.length; piece++) {
    const first = 2 * pieceSize * piece;
    const latitudes = points.subarray(Math.max(0, first - 2), first + 2 * pieceSize).filter((_, index) => index % 2 === 1);
    pieces.set([Math.min(...latitudes), Math.max(...latitudes)], 2 * piece);
  }
  return pieces;
}

function boundsOf(points: Int32Array, starts: Uint32Array): Int32Array {
  const bounds = new Int32Array(4 * (starts.length - 1));
  for (let ring = 0; ring + 1 < starts.length; ring++) {
    let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let at = 2 * (starts[ring] as number); at < 2 * (starts[ring + 1] as number); at += 2) {
      west = Math.min(west, points[at] as number);
      south = Math.min(south, points[at + 1] as number);
      east = Math.max(east, points[at] as number);
      north = Math.max(north, points[at + 1] as number);
    }
    bounds.set([west, south, east, north], 4 * ring);
  }
  return bounds;
}

function ringsByDegree(bounds: Int32Array, scale: number): number[][] {
  const degreeOf = (x: number) => Math.floor(x / scale) + 180;
  const found = Array.from({ length: 361 }, (): number[] => []);
  for (let at = 0; at < bounds.length; at += 4) {
    const last = degreeOf(bounds[at + 2] as number);
    for (let degree = degreeOf(bounds[at] as number); degree <= last; degree++) found[degree]?.push(at / 4);
  }
  return found;
}

/** Each point is the difference from the previous one, in signed numbers with seven bits per byte. */
function pointsOf(bytes: Buffer, starts: Uint32Array): Int32Array {
  const points = new Int32Array(2 * (starts.at(-1) as number));
  let at = 0;
  for (let ring = 0; ring + 1 < starts.length; ring++) {
    let [x, y] = [0, 0];
    for (let index = starts[ring] as number; index < (starts[ring + 1] as number); index++) {
      x += next();
      y += next();
      points[2 * index] = x;
      points[2 * index + 1] = y;
    }
  }
  return points;

  function next(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 127) * factor;
      if (byte < 128) return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    }
  }
}

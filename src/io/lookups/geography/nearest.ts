import KDBush from 'kdbush';
import { earthRadius } from '../../../core/lookups/distance.ts';
import type { Places } from './places.ts';

const radians = Math.PI / 180;

/** Places in a leaf of the tree, which are compared one by one. */
const nodeSize = 16;

/** A place found, and its distance along the great circle. */
export interface Found {
  readonly place: number;
  /** In metres. */
  readonly distance: number;
}

/** Finds the place nearest to a point: a k-d tree over degrees, with distances on the sphere. */
export class Nearest {
  /** Places in the order of the tree. */
  readonly #ids: Uint16Array | Uint32Array;
  /** Degrees in the order of the tree: longitude and latitude in turn. */
  readonly #degrees: Float64Array;
  /** The places, in the order of the tree, as vectors of length 1: x, y, z in turn. */
  readonly #vectors: Float64Array;
  // One search at a time: its state is reused, and allocates nothing.
  /** Branches put off: first and last place, axis, and the square of the distance to it. One branch for each level of the tree is enough. */
  readonly #stack = new Float64Array(4 * 64);
  /** The end of the stack. */
  #top = 0;
  #lat = 0;
  #lon = 0;
  #x = 0;
  #y = 0;
  #z = 0;
  #isAllowed: ((place: number) => boolean) | undefined;
  /** The index in the tree, or -1. */
  #best = -1;
  /** Square of the straight line through the earth to the best place, in radii. */
  #bestSquare = 0;
  #cosLat = 0;

  constructor(places: Places) {
    const tree = new KDBush(places.count, nodeSize, Float64Array);
    for (let place = 0; place < places.count; place++) tree.add(places.lon(place), places.lat(place));
    tree.finish();
    this.#ids = tree.ids;
    this.#degrees = tree.coords as Float64Array;
    this.#vectors = new Float64Array(3 * places.count);
    for (let index = 0; index < places.count; index++) {
      const [lon, lat] = [(this.#degrees[2 * index] as number) * radians, (this.#degrees[2 * index + 1] as number) * radians];
      this.#vectors[3 * index] = Math.cos(lat) * Math.cos(lon);
      this.#vectors[3 * index + 1] = Math.cos(lat) * Math.sin(lon);
      this.#vectors[3 * index + 2] = Math.sin(lat);
    }
  }

  /** Finds the nearest place within `maxDistance` metres. `isAllowed`: undefined if every place counts. */
  find(lat: number, lon: number, maxDistance: number, isAllowed?: (place: number) => boolean): Found | undefined {
    this.#begin(lat, lon, isAllowed);
    this.#bestSquare = (2 * Math.sin(Math.min(maxDistance / earthRadius, Math.PI) / 2)) ** 2;
    this.#search(lon);
    // Beyond the date line degrees go on.
    const reach = this.#reachLon();
    if (lon + reach > 180) this.#search(lon - 360);
    if (lon - reach < -180) this.#search(lon + 360);
    if (this.#best < 0) return undefined;
    return { place: this.#ids[this.#best] as number, distance: this.#distanceOf(this.#best) };
  }

  #begin(lat: number, lon: number, isAllowed: ((place: number) => boolean) | undefined): void {
    this.#lat = lat;
    this.#cosLat = Math.cos(lat * radians);
    this.#x = this.#cosLat * Math.cos(lon * radians);
    this.#y = this.#cosLat * Math.sin(lon * radians);
    this.#z = Math.sin(lat * radians);
    this.#isAllowed = isAllowed;
    this.#best = -1;
  }

  /** Degrees to the east and west in which a nearer place can lie. */
  #reachLon(): number {
    const angle = 2 * Math.asin(Math.min(1, Math.sqrt(this.#bestSquare) / 2));
    // The farthest meridian that a circle of this angle touches; every meridian if the circle holds a pole.
    const sine = Math.sin(angle) / this.#cosLat;
    const holdsPole = angle / radians + Math.abs(this.#lat) >= 90;
    return holdsPole || sine >= 1 ? 360 : Math.asin(sine) / radians;
  }

  #search(lon: number): void {
    this.#lon = lon;
    this.#descend(0, this.#ids.length - 1, 0);
    const stack = this.#stack;
    while (this.#top > 0) {
      this.#top -= 4;
      const top = this.#top;
      if ((stack[top + 3] as number) > this.#bestSquare) continue;
      this.#descend(stack[top] as number, stack[top + 1] as number, stack[top + 2] as number);
    }
  }

  /** Goes down to the leaf on the point's side. Puts off the other halves: once their turn comes, they may be too far away. */
  #descend(first: number, last: number, firstAxis: number): void {
    let [left, right, axis] = [first, last, firstAxis];
    while (right - left > nodeSize) {
      const middle = (left + right) >> 1;
      const from = (axis === 0 ? this.#lon : this.#lat) - (this.#degrees[2 * middle + axis] as number);
      const square = axis === 0 ? this.#squareToMeridian(from) : squareToParallel(from);
      if (square <= this.#bestSquare) {
        this.#consider(middle);
        if (from <= 0) this.#putOff(middle + 1, right, 1 - axis, square);
        else this.#putOff(left, middle - 1, 1 - axis, square);
      }
      if (from <= 0) right = middle - 1;
      else left = middle + 1;
      axis = 1 - axis;
    }
    for (let index = left; index <= right; index++) this.#consider(index);
  }

  #putOff(left: number, right: number, axis: number, square: number): void {
    const [stack, top] = [this.#stack, this.#top];
    stack[top] = left;
    stack[top + 1] = right;
    stack[top + 2] = axis;
    stack[top + 3] = square;
    this.#top += 4;
  }

  /** Least square of the straight line to a place at least this many degrees to the east or west. */
  #squareToMeridian(degrees: number): number {
    const angle = Math.min(Math.abs(degrees) * radians, Math.PI / 2);
    // No more than the sine. V8 takes much longer for powers.
    const line = this.#cosLat * (angle - (angle * angle * angle) / 6);
    return line * line;
  }

  #consider(index: number): void {
    const vectors = this.#vectors;
    const dx = (vectors[3 * index] as number) - this.#x;
    const dy = (vectors[3 * index + 1] as number) - this.#y;
    const dz = (vectors[3 * index + 2] as number) - this.#z;
    const square = dx * dx + dy * dy + dz * dz;
    if (square > this.#bestSquare || (square === this.#bestSquare && this.#best >= 0)) return;
    if (this.#isAllowed && !this.#isAllowed(this.#ids[index] as number)) return;
    this.#best = index;
    this.#bestSquare = square;
  }

  /** The haversine distance in metres. */
  #distanceOf(index: number): number {
    const lat = this.#degrees[2 * index + 1] as number;
    const lon = this.#degrees[2 * index] as number;
    const [north, east] = [Math.sin(((lat - this.#lat) * radians) / 2), Math.sin(((lon - this.#lon) * radians) / 2)];
    const square = north * north + Math.cos(lat * radians) * Math.cos(this.#lat * radians) * east * east;
    return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(square)));
  }
}

/** Least square of the straight line to a place at least this many degrees to the north or south. */
function squareToParallel(degrees: number): number {
  const angle = Math.abs(degrees) * radians;
  // No more than the chord, which is twice the sine of half the angle.
  const line = angle - (angle * angle * angle) / 24;
  return line * line;
}

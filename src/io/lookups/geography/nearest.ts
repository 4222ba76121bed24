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
  /** The same places as vectors of length 1: x, y, z in turn. */
  readonly #vectors: Float64Array;
  // One search at a time: its state is reused, and allocates nothing.
  readonly #stack: number[] = [];
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
  /** Degrees in which a nearer place can lie. Renewed before they are used, if a nearer place has been found. */
  #reachLat = 0;
  #reachLon = 0;
  #isReachOld = false;
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

  /** Finds the nearest place within `maxDistance` metres. `isAllowed`: absent if every place counts. */
  find(lat: number, lon: number, maxDistance: number, isAllowed?: (place: number) => boolean): Found | undefined {
    this.#begin(lat, lon, isAllowed);
    this.#bestSquare = (2 * Math.sin(Math.min(maxDistance / earthRadius, Math.PI) / 2)) ** 2;
    this.#renewReach();
    this.#search(lon);
    this.#renewReach();
    // Beyond the date line degrees go on.
    if (lon + this.#reachLon > 180) this.#search(lon - 360);
    if (lon - this.#reachLon < -180) this.#search(lon + 360);
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

  /** Reckons how far a place nearer than the best can lie. */
  #renewReach(): void {
    this.#isReachOld = false;
    const angle = 2 * Math.asin(Math.min(1, Math.sqrt(this.#bestSquare) / 2));
    this.#reachLat = angle / radians;
    // The farthest meridian that a circle of this angle touches; all of them if it holds a pole.
    const sine = Math.sin(angle) / this.#cosLat;
    const holdsPole = this.#reachLat + Math.abs(this.#lat) >= 90;
    this.#reachLon = holdsPole || sine >= 1 ? 360 : Math.asin(sine) / radians;
  }

  #search(lon: number): void {
    this.#lon = lon;
    const stack = this.#stack;
    stack.push(0, this.#ids.length - 1, 0, 0);
    while (stack.length > 0) {
      const gap = stack.pop() as number;
      const axis = stack.pop() as number;
      const right = stack.pop() as number;
      const left = stack.pop() as number;
      if (this.#isReachOld) this.#renewReach();
      // The axis before this one: of two, the other.
      if (gap > (axis === 0 ? this.#reachLat : this.#reachLon)) continue;
      if (right - left <= nodeSize) for (let index = left; index <= right; index++) this.#consider(index);
      else this.#branch(left, right, axis);
    }
  }

  /** Puts off the half on the far side of the middle. Once its turn comes, the gap may be too wide. */
  #branch(left: number, right: number, axis: number): void {
    const middle = (left + right) >> 1;
    const from = (axis === 0 ? this.#lon : this.#lat) - (this.#degrees[2 * middle + axis] as number);
    if (Math.abs(from) <= (axis === 0 ? this.#reachLon : this.#reachLat)) this.#consider(middle);
    const next = 1 - axis;
    if (from <= 0) this.#stack.push(middle + 1, right, next, -from, left, middle - 1, next, 0);
    else this.#stack.push(left, middle - 1, next, from, middle + 1, right, next, 0);
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
    this.#isReachOld = true;
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

import KDBush from 'kdbush';
import { earthRadius, metresBetween } from '../../coordinates.ts';
import type { PlaceTable } from './places.ts';

const radians = Math.PI / 180;

/** Maximum number of places in a leaf of the search tree. The places in a leaf are compared one by one. */
const nodeSize = 16;

export interface NearestPlace {
  readonly place: number;
  /** Distance between the point and the place in metres. */
  readonly distance: number;
}

/** A k-d tree of longitudes and latitudes, although distances are measured on the sphere. */
export class Nearest {
  readonly #ids: Uint16Array | Uint32Array;
  /** The longitude and latitude of each place in degrees, in the order of the tree. */
  readonly #degrees: Float64Array;
  /** The position of each place as a unit vector (x, y, z), in the order of the tree. */
  readonly #vectors: Float64Array;
  // The fields below belong to the current search. There is only one search at a time, so they are reused and no memory is allocated.
  #lat = 0;
  #lon = 0;
  #x = 0;
  #y = 0;
  #z = 0;
  #isAllowed: ((place: number) => boolean) | undefined;
  /** Index of the nearest place found so far, in the order of the tree; -1 if there is none. */
  #best = -1;
  /** Squared length, in earth radii, of the straight line through the earth to the nearest place found so far. */
  #bestSquare = 0;
  #cosLat = 0;

  constructor(places: PlaceTable) {
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

  /** Finds the nearest place within `maxDistance` metres. If `isAllowed` is defined, leaves out places for which it returns false. */
  find(lat: number, lon: number, maxDistance: number, isAllowed?: (place: number) => boolean): NearestPlace | undefined {
    this.#begin(lat, lon, isAllowed);
    this.#bestSquare = (2 * Math.sin(Math.min(maxDistance / earthRadius, Math.PI) / 2)) ** 2;
    this.#searchFrom(lon);
    // If a nearer place may be beyond the date line (180° longitude), the places on the other side are searched, too.
    const reach = this.#reachLon();
    if (lon + reach > 180) this.#searchFrom(lon - 360);
    if (lon - reach < -180) this.#searchFrom(lon + 360);
    if (this.#best < 0) return undefined;
    const nearest = { lat: this.#degrees[2 * this.#best + 1] as number, lon: this.#degrees[2 * this.#best] as number };
    return { place: this.#ids[this.#best] as number, distance: metresBetween({ lat, lon }, nearest) };
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

  /** Returns the maximum distance, in degrees of longitude, between the point and a place that is nearer than the nearest one so far. */
  #reachLon(): number {
    const angle = 2 * Math.asin(Math.min(1, Math.sqrt(this.#bestSquare) / 2));
    // The sine of the difference in longitude at which the circle around the point with this radius touches its farthest meridian. If the
    // circle contains a pole, it reaches all meridians.
    const sine = Math.sin(angle) / this.#cosLat;
    const holdsPole = angle / radians + Math.abs(this.#lat) >= 90;
    return holdsPole || sine >= 1 ? 360 : Math.asin(sine) / radians;
  }

  #searchFrom(lon: number): void {
    this.#lon = lon;
    this.#search(0, this.#ids.length - 1, 0);
  }

  /** Begins with the half that contains the point. The other half may then turn out to be too far away. */
  #search(left: number, right: number, axis: 0 | 1): void {
    if (right - left <= nodeSize) {
      for (let index = left; index <= right; index++) this.#consider(index);
      return;
    }
    const middle = (left + right) >> 1;
    const from = (axis === 0 ? this.#lon : this.#lat) - (this.#degrees[2 * middle + axis] as number);
    const square = axis === 0 ? this.#squareToMeridian(from) : squareToParallel(from);
    const other = axis === 0 ? 1 : 0;
    if (square <= this.#bestSquare) this.#consider(middle);
    if (from <= 0) this.#search(left, middle - 1, other);
    else this.#search(middle + 1, right, other);
    if (square > this.#bestSquare) return;
    if (from <= 0) this.#search(middle + 1, right, other);
    else this.#search(left, middle - 1, other);
  }

  /** Returns the minimum squared distance between the point and a place that is at least this many degrees to the east or west. */
  #squareToMeridian(degrees: number): number {
    const angle = Math.min(Math.abs(degrees) * radians, Math.PI / 2);
    // A lower bound for the sine of the angle. It is written as a product, because V8 computes powers much more slowly.
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
}

/** Returns the minimum squared distance between the point and a place that is at least this many degrees to the north or south. */
function squareToParallel(degrees: number): number {
  const angle = Math.abs(degrees) * radians;
  // A lower bound for the length of the chord, which is twice the sine of half the angle.
  const line = angle - (angle * angle * angle) / 24;
  return line * line;
}

import type { Columns } from './columns.ts';

/** The part of a file of areas that is JSON. */
export interface AreasMeta<Area> {
  /** Units of a degree. */
  readonly scale: number;
  readonly areas: readonly Area[];
}

/** Cells of the grid per degree. */
const perDegree = 4;
const columnsOfGrid = 360 * perDegree;
const rowsOfGrid = 180 * perDegree;

/** Marks of cells in the grid, beside numbers of areas from 0 on. */
const unknown = -1;
const noArea = -2;
const crossed = -3;

/** Areas of the earth, such as countries. A point lies in at most one of them. */
export class Areas<Area> {
  readonly #areas: readonly Area[];
  /** The numbers of all areas. */
  readonly #all: readonly number[];
  readonly #scale: number;
  /** Points of all rings: longitude and latitude in turn. */
  readonly #points: Int32Array;
  /** The first point of each ring, and the end. */
  readonly #ringStarts: Uint32Array;
  /** The first ring of each area, and the end. */
  readonly #areaStarts: Uint32Array;
  /** West, south, east and north of each area. */
  readonly #bounds: Int32Array;
  /** For each cell the area that it lies in, or a mark. Of cells side by side without a border in them one is looked up. */
  readonly #grid = new Int16Array(columnsOfGrid * rowsOfGrid).fill(unknown);
  /** The areas whose borders cross a cell. */
  readonly #atBorders = new Map<number, number[]>();

  constructor(columns: Columns<AreasMeta<Area>>) {
    this.#areas = columns.meta.areas;
    this.#all = [...this.#areas.keys()];
    this.#scale = columns.meta.scale;
    this.#ringStarts = columns.starts('lengths');
    const owners = columns.numbers('owners');
    this.#areaStarts = startsOfGroups(owners, this.#areas.length);
    this.#points = pointsOf(columns.bytes('steps'), this.#ringStarts);
    this.#bounds = boundsOf(this.#points, this.#ringStarts, this.#areaStarts);
    for (let ring = 0; ring < owners.length; ring++) this.#markBorder(ring, owners[ring] as number);
  }

  /** The area in which a point lies; absent outside of all. */
  at(lat: number, lon: number): Area | undefined {
    const row = rowOf(lat) * columnsOfGrid;
    const column = columnOf(lon);
    let area = this.#grid[row + column] as number;
    if (area === crossed) area = this.#areaAmong(this.#atBorders.get(row + column) as number[], lat, lon);
    else if (area === unknown) {
      area = this.#areaAmong(this.#all, lat, lon);
      this.#fill(row, column, area);
    }
    return area === noArea ? undefined : this.#areas[area];
  }

  #areaAmong(candidates: readonly number[], lat: number, lon: number): number {
    const x = lon * this.#scale;
    const y = lat * this.#scale;
    for (let index = 0; index < candidates.length; index++) {
      const area = candidates[index] as number;
      if (this.#isInBounds(area, y, x) && this.#contains(area, y, x)) return area;
    }
    return noArea;
  }

  /** Notes the area of a cell, and of those beside it up to the next borders. */
  #fill(row: number, column: number, area: number): void {
    let first = column;
    while (first > 0 && this.#grid[row + first - 1] === unknown) first--;
    let end = column + 1;
    while (end < columnsOfGrid && this.#grid[row + end] === unknown) end++;
    this.#grid.fill(area, row + first, row + end);
  }

  #isInBounds(area: number, y: number, x: number): boolean {
    const bounds = this.#bounds;
    const at = 4 * area;
    const isBetween = x >= (bounds[at] as number) && x <= (bounds[at + 2] as number);
    return isBetween && y >= (bounds[at + 1] as number) && y <= (bounds[at + 3] as number);
  }

  /** True if a ray from the point crosses the rings an odd number of times. */
  #contains(area: number, y: number, x: number): boolean {
    const points = this.#points;
    let isInside = false;
    for (let ring = this.#areaStarts[area] as number; ring < (this.#areaStarts[area + 1] as number); ring++) {
      const end = 2 * (this.#ringStarts[ring + 1] as number);
      let [fromX, fromY] = [points[end - 2] as number, points[end - 1] as number];
      for (let at = 2 * (this.#ringStarts[ring] as number); at < end; at += 2) {
        const toX = points[at] as number;
        const toY = points[at + 1] as number;
        if (toY > y !== fromY > y && x < ((fromX - toX) * (y - toY)) / (fromY - toY) + toX) isInside = !isInside;
        fromX = toX;
        fromY = toY;
      }
    }
    return isInside;
  }

  #markBorder(ring: number, area: number): void {
    const end = this.#ringStarts[ring + 1] as number;
    let from = end - 1;
    for (let to = this.#ringStarts[ring] as number; to < end; to++) {
      const isEastward = (this.#points[2 * from] as number) <= (this.#points[2 * to] as number);
      this.#markEdge(isEastward ? from : to, isEastward ? to : from, area);
      from = to;
    }
  }

  #degrees(at: number): number {
    return (this.#points[at] as number) / this.#scale;
  }

  /** Marks the cells through which an edge runs, row by row. Allocates nothing: there are 90,000 edges. */
  #markEdge(west: number, east: number, area: number): void {
    const westX = this.#degrees(2 * west);
    const westY = this.#degrees(2 * west + 1);
    const eastX = this.#degrees(2 * east);
    const eastY = this.#degrees(2 * east + 1);
    const slope = (eastY - westY) / (eastX - westX);
    const firstRow = rowOf(Math.min(westY, eastY));
    const lastRow = rowOf(Math.max(westY, eastY));
    for (let row = firstRow; row <= lastRow; row++) {
      const isWhole = firstRow === lastRow;
      const south = isWhole ? westX : clamp(westX + (row / perDegree - 90 - westY) / slope, westX, eastX);
      const north = isWhole ? eastX : clamp(westX + ((row + 1) / perDegree - 90 - westY) / slope, westX, eastX);
      const lastColumn = columnOf(Math.max(south, north));
      for (let column = columnOf(Math.min(south, north)); column <= lastColumn; column++)
        this.#markCell(row * columnsOfGrid + column, area);
    }
  }

  #markCell(cell: number, area: number): void {
    const found = this.#grid[cell] === crossed ? (this.#atBorders.get(cell) as number[]) : [];
    if (found.length === 0) {
      this.#grid[cell] = crossed;
      this.#atBorders.set(cell, found);
    }
    if (!found.includes(area)) found.push(area);
  }
}

function startsOfGroups(owners: Uint32Array, count: number): Uint32Array {
  const starts = new Uint32Array(count + 1).fill(owners.length);
  for (let index = owners.length - 1; index >= 0; index--) starts[owners[index] as number] = index;
  return starts;
}

function boundsOf(points: Int32Array, ringStarts: Uint32Array, areaStarts: Uint32Array): Int32Array {
  const bounds = new Int32Array(4 * (areaStarts.length - 1));
  for (let area = 0; area + 1 < areaStarts.length; area++) {
    const end = 2 * (ringStarts[areaStarts[area + 1] as number] as number);
    let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let at = 2 * (ringStarts[areaStarts[area] as number] as number); at < end; at += 2) {
      west = Math.min(west, points[at] as number);
      south = Math.min(south, points[at + 1] as number);
      east = Math.max(east, points[at] as number);
      north = Math.max(north, points[at + 1] as number);
    }
    bounds.set([west, south, east, north], 4 * area);
  }
  return bounds;
}

/** Reads the steps from point to point: signed numbers in groups of seven bits. */
function pointsOf(bytes: Buffer, ringStarts: Uint32Array): Int32Array {
  const points = new Int32Array(2 * (ringStarts.at(-1) as number));
  let at = 0;
  for (let ring = 0; ring + 1 < ringStarts.length; ring++) {
    let [x, y] = [0, 0];
    for (let index = ringStarts[ring] as number; index < (ringStarts[ring + 1] as number); index++) {
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

function rowOf(lat: number): number {
  return clamp(Math.floor((lat + 90) * perDegree), 0, rowsOfGrid - 1);
}

function columnOf(lon: number): number {
  return clamp(Math.floor((lon + 180) * perDegree), 0, columnsOfGrid - 1);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

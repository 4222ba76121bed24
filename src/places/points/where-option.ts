import type { BuildContext } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';
import { distanceMetres, readCoordinates } from '../coordinates.ts';
import { countryNamed, noCountry } from '../country-names.ts';
import type { Around, Box } from '../lookup.ts';
import type { PlacesOptions } from '../places-options.ts';
import { refusedValue, unexpectedText } from '../refused-value.ts';

/** ISO 3166-1 alpha-2, ISO 3166-2, or an OpenStreetMap object such as `way/5`. */
export type Area = { readonly country: string } | { readonly region: string } | { readonly osm: string };

export type Where = Around | Box | Area;

/** Undefined if all values are blank. Throws a Failure (`request`) if a value is invalid. */
export type WhereTemplate = (fields: Fields) => Where | undefined;

/** In metres. */
const maxRadius = 50_000;

export function whereTemplate({ near, area }: PlacesOptions, context: BuildContext): WhereTemplate | undefined {
  if (near === undefined && area === undefined) {
    context.missing(['near', 'area'], 'lookup: points needs near or area, found neither', ['lookup']);
    return undefined;
  }
  if (near && area) {
    context.problem(['area'], 'lookup: points needs near or area, found both');
    return undefined;
  }
  return near ? nearTemplate(near, context) : areaTemplate(area as NonNullable<typeof area>, context);
}

function nearTemplate({ lat, lon, radius }: NonNullable<PlacesOptions['near']>, context: BuildContext): WhereTemplate {
  const [latOf, lonOf, radiusOf] = [lat, lon, radius].map((text) => textTemplate(String(text))) as [Text, Text, Text];
  if (isLiteral(radius)) reportWrong(context, ['near', 'radius'], () => metresOf(radius));
  if (isLiteral(lat)) reportWrong(context, ['near', 'lat'], () => readCoordinates(String(lat), '0'));
  if (isLiteral(lon)) reportWrong(context, ['near', 'lon'], () => readCoordinates('0', String(lon)));
  return (fields) => {
    const [lat, lon] = [latOf(fields), lonOf(fields)];
    if (lat.trim() === '' && lon.trim() === '') return undefined;
    return { near: readCoordinates(lat, lon), radius: metresOf(radiusOf(fields)) };
  };
}

type Text = (fields: Fields) => string;

function isLiteral(text: string | number): boolean {
  return referencedFields(String(text)).length === 0;
}

/** Reports a problem with a literal value in a flow. `read` throws an Error if the value is invalid. */
function reportWrong(context: BuildContext, at: readonly string[], read: () => unknown): void {
  try {
    read();
  } catch (error) {
    context.problem(at, (error as Error).message);
  }
}

function metresOf(text: string): number {
  let metres: number;
  try {
    metres = distanceMetres(text);
  } catch (error) {
    throw refusedValue((error as Error).message);
  }
  if (metres >= 1 && metres <= maxRadius) return metres;
  throw refusedValue(`expected a radius of 1m to 50km, found ${text.trim()}`);
}

type AreaOption = NonNullable<PlacesOptions['area']>;

function areaTemplate(area: AreaOption, context: BuildContext): WhereTemplate | undefined {
  const [kind, ...more] = Object.keys(area) as (keyof AreaOption)[];
  if (kind === undefined || more.length > 0) {
    context.missing(['area'], 'expected one of country, region, osm and bbox', ['area']);
    return undefined;
  }
  if (area.bbox) return bboxTemplate(area.bbox, context);
  const text = String(area[kind]);
  const render = textTemplate(text);
  const read = readers[kind as keyof typeof readers];
  if (isLiteral(text)) reportWrong(context, ['area', kind], () => read(text));
  return (fields) => {
    const written = render(fields).trim();
    return written === '' ? undefined : read(written);
  };
}

const readers = {
  country(text: string): Area {
    const code = countryNamed(text);
    if (code === undefined) throw refusedValue(noCountry(text));
    return { country: code };
  },
  region(text: string): Area {
    const region = text.trim().toUpperCase();
    if (/^[A-Z]{2}-[A-Z0-9]{1,3}$/.test(region)) return { region };
    throw refusedValue(unexpectedText('a region such as DE-BE (ISO 3166-2)', text));
  },
  osm(text: string): Area {
    const osm = text.trim();
    if (/^(?:relation|way)\/\d{1,10}$/.test(osm)) return { osm };
    throw refusedValue(unexpectedText('an object such as relation/62422', text));
  },
};

function bboxTemplate(bbox: readonly (string | number)[], context: BuildContext): WhereTemplate {
  const sides = bbox.map((side) => textTemplate(String(side)));
  if (bbox.every(isLiteral)) reportWrong(context, ['area', 'bbox'], () => bboxOf(bbox.map(String)));
  return (fields) => {
    const written = sides.map((side) => side(fields));
    return written.every((side) => side.trim() === '') ? undefined : { bbox: bboxOf(written) };
  };
}

function bboxOf(sides: readonly string[]): number[] {
  const [south = '', west = '', north = '', east = ''] = sides;
  const [low, high] = [readCoordinates(south, west), readCoordinates(north, east)];
  if (low.lat <= high.lat) return [low.lat, low.lon, high.lat, high.lon];
  throw refusedValue(unexpectedText('south, west, north, east: the first latitude below the second', sides.join(', ')));
}

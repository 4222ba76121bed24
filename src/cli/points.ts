import { Failure, usageError } from '../core/failure.ts';
import { counted, formatCount } from '../core/text/number.ts';
import { isObject, type JsonObject, textOf, type Value } from '../core/value/value.ts';
import type { LookupDocument } from '../places/lookup.ts';
import { lookUpOne } from '../preview/look-up.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { pointFields } from './geocode-command.ts';
import type { PointsOptions } from './points-options.ts';
import { tableText } from './show/table.ts';
import { printJson, type Terminal } from './terminal.ts';

export async function pointsCommand(options: PointsOptions, terminal: Terminal): Promise<number> {
  const { near, radius, category, chain, limit, connection, file } = options;
  if (near === undefined) throw usageError('expected --near LAT,LON\nautomate places points --near 52.52,13.405 --category cafe');
  if (options.json && options.geojson) throw usageError('expected --json or --geojson, found both');
  const node = {
    type: 'places',
    lookup: 'points',
    near: { lat: '{{lat}}', lon: '{{lon}}', radius },
    limit,
    ...(category !== undefined && { category }),
    ...(chain !== undefined && { chain }),
    ...(connection !== undefined && { connection }),
    ...(file !== undefined && { source: 'file', file }),
  };
  const document = await lookUpOne({ command: 'automate places points', node, fields: pointFields(near), options }, terminal);
  if (document instanceof Failure) {
    terminal.say(`${terminal.colors.red('failed:')} ${document.kind}: ${document.message}`);
    return exitCodes.someFailed;
  }
  if (!document?.match) {
    terminal.say(document?.count === null ? `no chain is called ${JSON.stringify(chain)}` : noPointText(options));
    return exitCodes.someFailed;
  }
  if (options.json) await printJson(document, terminal);
  else if (options.geojson) await printJson(featuresOf(document), terminal);
  else await terminal.print(pointsText(document, terminal.width));
  return exitCodes.success;
}

function noPointText({ category, chain, radius, near }: PointsOptions): string {
  const ofCategory = category === undefined ? '' : ` of the category ${JSON.stringify(category)}`;
  const ofChain = chain === undefined ? '' : ` of the chain ${JSON.stringify(chain)}`;
  return `no point${ofCategory}${ofChain} within ${radius.replace(/(\d)(?=[a-z])/, '$1 ')} of ${near}`;
}

function pointsText(document: LookupDocument, width: number | undefined): string {
  const rows = pointsIn(document).map(({ name, distance_m: metres, category, street, housenumber, city, id }) => [
    textOf(name ?? ''),
    `${formatCount(Number(metres))} m`,
    textOf(category ?? ''),
    [
      [street, housenumber]
        .map((part) => textOf(part ?? ''))
        .join(' ')
        .trim(),
      textOf(city ?? ''),
    ]
      .filter(Boolean)
      .join(', '),
    textOf(id ?? ''),
  ]);
  const warning = document.nearest === null ? ', and nearer points might be missing' : '';
  const more = document.truncated ? [`there are more than ${counted(Number(document.count), 'point')}${warning}; --limit shows more`] : [];
  const table = tableText([['name', 'distance', 'category', 'address', 'id'], ...rows], { width, cut: [0, 3] });
  return [...table, '', ...more, `data: ${document.attribution}`].join('\n');
}

function pointsIn({ points }: LookupDocument): JsonObject[] {
  return (points as Value[]).filter(isObject);
}

function featuresOf(document: LookupDocument): Value {
  const features = pointsIn(document).map(({ id = null, lat = null, lon = null, ...properties }) => ({
    type: 'Feature',
    ...(id !== null && { id }),
    geometry: { type: 'Point', coordinates: [lon, lat] },
    properties,
  }));
  return { type: 'FeatureCollection', attribution: document.attribution as string, features };
}

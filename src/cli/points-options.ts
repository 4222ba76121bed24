import { wholeNumber } from './arguments.ts';
import { defaultsTo, flag, parsedOption, textOption, type ValuesOf } from './options.ts';
import { httpOptions, json } from './shared-options.ts';

export const pointsOptions = {
  near: textOption('--near <lat,lon>', 'the point to look around, in decimal degrees, such as --near=-33.86,151.21'),
  radius: defaultsTo('1km', textOption('--radius <distance>', 'how far around the point to look, such as 250m, 5km or 2mi; at most 50km')),
  category: textOption('--category <words>', 'find points of this category: an id, or words such as coffee shop'),
  chain: textOption('--chain <name>', 'find branches of this chain: a Wikidata id, or a name'),
  limit: defaultsTo(20, parsedOption('--limit <n>', wholeNumber(1), 'show at most N points')),
  connection: textOption('--connection <name>', 'a saved connection to your own Overpass server', { listedBy: 'connections' }),
  file: textOption('--file <file>', 'search in this file instead: GeoJSON or Overpass JSON, or one of them with .gz'),
  json,
  geojson: flag('--geojson', 'print GeoJSON instead of text'),
  ...httpOptions,
};

export type PointsOptions = ValuesOf<typeof pointsOptions>;

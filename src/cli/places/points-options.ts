import { wholeNumber } from '../arguments.ts';
import { defaultsTo, flag, parsedOption, textOption } from '../options.ts';
import { httpOptions, json } from '../shared-options.ts';

/** The options of `automate places points`. */
export const pointsOptions = {
  near: textOption('--near <lat,lon>', 'decimal degrees: look around this point, such as --near=-33.86,151.21'),
  radius: defaultsTo('1km', textOption('--radius <distance>', 'such as 250m, 5km or 2mi, at most 50km')),
  category: textOption('--category <words>', 'the id of a category, or words for it'),
  chain: textOption('--chain <name>', 'the Wikidata id of a chain, or its name'),
  limit: defaultsTo(20, parsedOption('--limit <n>', wholeNumber(1), 'show at most N points')),
  connection: textOption('--connection <name>', 'ask your own Overpass server, a saved connection', { listedBy: 'connections' }),
  file: textOption('--file <file>', 'look in a file of points instead: GeoJSON or Overpass JSON, also .gz'),
  json,
  geojson: flag('--geojson', 'print GeoJSON'),
  ...httpOptions,
};

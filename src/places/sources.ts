/** A data source whose terms of use require attribution. */
export interface DataSource {
  readonly text: string;
  readonly licence: string;
  readonly url: string;
}

/** The data sources by name. For embedded data, a file with the name of the source contains its licence and date. */
export const sources = {
  'name-suggestion-index': {
    text: 'name-suggestion-index, BSD 3-Clause, Copyright 2026, name-suggestion-index contributors',
    licence: 'BSD-3-Clause',
    url: 'https://github.com/osmlab/name-suggestion-index',
  },
  'id-tagging-schema': {
    text: 'id-tagging-schema, ISC, Copyright (c) iD Contributors',
    licence: 'ISC',
    url: 'https://github.com/openstreetmap/id-tagging-schema',
  },
  openstreetmap: {
    text: '© OpenStreetMap contributors, ODbL 1.0, https://www.openstreetmap.org/copyright',
    licence: 'ODbL-1.0',
    url: 'https://www.openstreetmap.org/copyright',
  },
  geonames: {
    text: 'GeoNames, CC BY 4.0, https://www.geonames.org',
    licence: 'CC-BY-4.0',
    url: 'https://www.geonames.org',
  },
  'census-bureau': {
    text: 'This product uses the Census Bureau Data API but is not endorsed or certified by the Census Bureau.',
    licence: 'public domain',
    url: 'https://www.census.gov/data/developers/about/terms-of-service.html',
  },
  'world-bank': { text: 'World Bank, CC BY 4.0', licence: 'CC-BY-4.0', url: 'https://data.worldbank.org' },
} as const satisfies Readonly<Record<string, DataSource>>;

export type SourceName = keyof typeof sources;

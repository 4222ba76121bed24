// The lookups in embedded data, as one file.
export * from '../src/places/data/categories/categories.ts';
export * from '../src/places/data/categories/category-names.ts';
export * from '../src/places/data/chains/chains.ts';
export * from '../src/places/data/data.ts';
export * from '../src/places/data/lookups.ts';
export * from '../src/places/data/points-data.ts';

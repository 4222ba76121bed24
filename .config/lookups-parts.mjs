// The lookups in embedded data, as one file.
export * from '../src/io/lookups/categories/categories.ts';
export * from '../src/io/lookups/categories/category-names.ts';
export * from '../src/io/lookups/chains/chains.ts';
export * from '../src/io/lookups/lookups.ts';
export * from '../src/io/lookups/notices.ts';
export * from '../src/io/lookups/points/points.ts';

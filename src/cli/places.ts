import { wholeNumber } from './arguments.ts';
import { argument, type CommandCode, defaultsTo, parsedOption, subcommand, textOption } from './options.ts';
import { pointsOptions } from './points-options.ts';
import { json } from './shared-options.ts';

const chains = subcommand({
  name: 'chains',
  help: 'find the chain that a name means, in the data that comes with automate',
  examples: ['automate places chains starbuks', 'automate places chains target --country AU --json'],
  args: { words: argument('<words...>', 'the name, as people write it') },
  options: {
    country: textOption('--country <code>', 'prefer chains in this country, by code or name, such as DE or Germany'),
    category: textOption('--category <words>', 'prefer chains of this category: an id, or words such as coffee shop'),
    limit: defaultsTo(5, parsedOption('--limit <n>', wholeNumber(1), 'show at most N chains')),
    json,
  },
  run: async ({ args, options, terminal }) => (await import('./places-command.ts')).chainsCommand(args.words, options, terminal),
});

const categories = subcommand({
  name: 'categories',
  help: 'find the category that words mean, or list all categories',
  examples: ['automate places categories coffee shop', 'automate places categories Apotheke --language de'],
  args: { words: argument('[words...]', 'words in any language, or the id of a category; without them, all categories are listed') },
  options: {
    language: textOption('--language <code>', 'the language to try first, in which the names are printed, such as de (default: en)'),
    json,
  },
  run: async ({ args, options, terminal }) => (await import('./places-command.ts')).categoriesCommand(args.words, options, terminal),
});

const points = subcommand({
  name: 'points',
  help: 'find points of interest near a point, from OpenStreetMap (costs one credit)',
  examples: [
    'automate places points --near 52.52,13.405 --category cafe',
    'automate places points --near 41.88,-87.63 --chain starbucks --geojson',
  ],
  options: pointsOptions,
  run: async ({ options, terminal }) => (await import('./points.ts')).pointsCommand(options, terminal),
});

export const places: CommandCode = {
  commands: [chains, categories, points],
};

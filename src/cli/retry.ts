import { optionsWith } from '../core/run-options.ts';
import { argument, command } from './options.ts';
import { runOption, runOptionsNamed, underHeadings } from './shared-options.ts';

const retriedOutput = argument('<out>', 'the output of a complete run in which some records failed');

const retryOptions = underHeadings({
  ...runOptionsNamed(optionsWith('retry', true)),
  delimiter: runOption('delimiter', 'delimiter of the errors file, if it was saved in another form (default: recognized)'),
  encoding: runOption('encoding', 'encoding of the errors file, if it was saved in another form, such as windows-1252 (default: utf-8)'),
  var: { ...runOption('var'), defaultText: 'the values of the run' },
  errors: runOption('errors', 'the failed records, which you can edit before the retry (default: the errors file of the run)'),
  resume: runOption('resume', 'continue an unfinished retry, or start one if there is none'),
  force: runOption('force', 'discard an unfinished retry, and start over'),
  files: runOption('files', 'folder below which flows can send and save files, such as documents (default: the folder of the run)'),
});

export const retry = command({
  examples: [
    'automate retry out.csv',
    'automate retry out.csv --errors corrected.csv',
    'automate retry out.csv --resume',
    'automate retry out.csv --metrics 9464',
  ],
  args: { out: retriedOutput },
  options: retryOptions,
  run: async ({ args, options, written, terminal }) =>
    (await import('./retry-command.ts')).retryCommand({ out: args.out, options, written }, terminal),
});

import { wholeNumber } from './arguments.ts';
import { command, flag, parsedOption } from './options.ts';

export const demo = command({
  examples: ['automate demo', 'automate demo --serve'],
  options: {
    serve: flag('--serve', 'only start the API, so that you can run the flows in examples/'),
    port: parsedOption('--port <n>', wholeNumber(0), 'the port of the API (default: 4010 with --serve, or any free port)'),
  },
  run: async ({ options, terminal }) => (await import('./demo-command.ts')).demoCommand(options, terminal),
});

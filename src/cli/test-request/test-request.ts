import { command } from '../options.ts';
import { flow, oneFlow } from '../shared-options.ts';
import { testRequestOptions } from './test-request-options.ts';

export const testRequest = command({
  examples: [
    'automate test-request flow.yaml --in rows.csv',
    'automate test-request flow.yaml --in rows.csv --write data.name,data.email',
    'automate test-request flow.yaml --set id=17 --curl | sh',
    'automate test-request flow.yaml --in rows.csv --files documents',
    'automate test-request flow.yaml -i rows.csv --record 3 --save-test "a user"',
  ],
  args: { flow },
  tooManyArguments: oneFlow('test-request'),
  options: testRequestOptions,
  run: async ({ args, options, terminal }) => (await import('./test-request-command.ts')).testRequestCommand(args.flow, options, terminal),
});

import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { type Finished, workplace } from '../helpers/cli.ts';
import { hasWindow, inWindow } from '../helpers/window.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: a color code begins with a control character
const colored = /\x1b\[3\dm/;

async function shown(env: Record<string, string>, columns?: number): Promise<Finished> {
  const server = await askedServer(400);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'in.csv': csvOf(3) });
  return inWindow(place, ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'], env, columns);
}

describe.skipIf(!hasWindow)('the progress spinner in a terminal', () => {
  test('assumes 80 columns if the width is unknown, and disappears when the run ends', async () => {
    const { code, stdout } = await shown({});
    expect(code).toBe(0);
    expect(stdout).toContain('0 records');
    expect(stdout).toContain(': 3 read, 3 written');
    expect(stdout.length).toBeLessThan(10_000);
  });

  test('does not hide the cursor, because a killed run would not show it again', async () => {
    expect((await shown({}, 80)).stdout).not.toContain('\x1b[?25l');
  });

  test.each([
    ['is colored', {}, true],
    ['has no color with NO_COLOR', { NO_COLOR: '1' }, false],
    ['has no color with FORCE_COLOR=0', { FORCE_COLOR: '0' }, false],
    ['is not drawn with TERM=dumb', { TERM: 'dumb' }, false],
  ])('%s', async (_name, env, hasColor) => {
    const { code, stdout } = await shown(env, 80);
    expect(code).toBe(0);
    expect(colored.test(stdout)).toBe(hasColor);
    expect(stdout.includes('0 records')).toBe(!('TERM' in env));
  });
});

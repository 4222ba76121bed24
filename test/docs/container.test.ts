import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { root } from './pages.ts';

test('the container image runs automate as an unprivileged user, and checks the health of the server', async () => {
  const lines = (await readFile(`${root}Dockerfile`, 'utf8')).split('\n').filter((line) => /^[A-Z]/.test(line));
  const words = lines.map((line) => line.split(' ')[0]);
  expect(words.filter((word) => word === 'FROM')).toHaveLength(2);
  expect(words.indexOf('USER')).toBeGreaterThan(words.lastIndexOf('FROM'));
  expect(lines).toEqual(expect.arrayContaining(['USER node', 'ENTRYPOINT ["automate"]', 'VOLUME /home/node/automate']));
  const [, command = ''] = lines.find((line) => line.startsWith('HEALTHCHECK'))?.split(' CMD ') ?? [];
  expect(JSON.parse(command)).toEqual(['node', '-e', expect.stringContaining('http://127.0.0.1:4020/healthz')]);
});

test("the commands for one-off containers in the documentation turn the server's health check off", async () => {
  const page = await readFile(`${root}docs/running-unattended.md`, 'utf8');
  const commands = page.split('\n').filter((line) => line.startsWith('$ docker run'));
  expect(commands.map((line) => [/ automate (run|keys|serve) /.exec(line)?.[1], line.includes('--no-healthcheck')])).toEqual([
    ['run', true],
    ['keys', true],
    ['serve', false],
  ]);
});

test('the GitHub Actions step describes its inputs, and uses them only as environment variables', async () => {
  const action = parse(await readFile(`${root}action.yml`, 'utf8'));
  expect(Object.keys(action)).toEqual(['name', 'description', 'inputs', 'runs']);
  for (const input of Object.values<{ description: string }>(action.inputs)) expect(input.description).toMatch(/\.$/);
  expect(Object.keys(action.inputs)).toEqual(['files', 'version', 'args']);
  expect(action.runs.using).toBe('composite');
  for (const { shell, run } of action.runs.steps) {
    expect(shell).toBe('bash');
    // An input in the text of a command could inject other commands.
    expect(run).not.toContain('${{');
  }
});
